# unpack.py ARCHIVE PATTERN OUT: the one file in ARCHIVE (a zip, such as a wheel) whose name matches PATTERN, as OUT.
# The archive's own checksum is verified while reading. Nothing is left at OUT when it fails.
import fnmatch
import os
import shutil
import sys
import zipfile


def unpack(archive, pattern, out):
    with zipfile.ZipFile(archive) as files:
        found = [name for name in files.namelist() if fnmatch.fnmatchcase(name, pattern)]
        if len(found) != 1:
            sys.exit(f"{archive} has {len(found)} files that match {pattern}, not one")
        with files.open(found[0]) as source, open(out, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())


if __name__ == "__main__":
    try:
        unpack(*sys.argv[1:])
    except (OSError, zipfile.BadZipFile) as error:
        if os.path.exists(sys.argv[3]):
            os.remove(sys.argv[3])
        sys.exit(str(error))
