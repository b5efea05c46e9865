"""What nvdisasm says of compiled kernels: instructions, the blocks between jumps, and the loops that they form. A loop is a natural one: a jump back to a block
that every way into the loop leads through (its head), and all blocks from which the jump is reached without the head. Calls return to the next instruction; the
paths that a warp takes only when its lanes have parted before an exchange (BRA.DIV) are left out."""
import re
import subprocess

SECTION = re.compile(r"\s*\.section\s+\.text\.(\w+),")
FUNCTION = re.compile(r"\s*\.type\s+(\S+),@function")
LABEL = re.compile(r"(\.L_x_\d+|\$\S+|\.text\.\w+):")
INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*(.*?)\s*;")
TARGET = re.compile(r"`\((\.L_x_\d+)\)")


class Instruction:
    __slots__ = ("conditional", "name", "arguments")

    def __init__(self, guard, name, arguments):
        self.conditional = guard is not None
        self.name = name
        self.arguments = arguments


class Kernel:
    """Blocks of instructions, with the numbers of the blocks that follow each, and the loops: sets of block numbers."""

    def __init__(self, items):
        self.blocks, self.next = [[]], []
        at, targets = {}, [None]
        for item in items:
            if isinstance(item, str):
                if self.blocks[-1]:
                    self.blocks.append([])
                    targets.append(None)
                at[item] = len(self.blocks) - 1
                continue
            self.blocks[-1].append(item)
            kind = item.name.split(".")[0]
            if kind in ("BRA", "JMP", "EXIT", "RET", "BRX", "BRXU", "BREAK") or (kind == "WARPSYNC" and TARGET.search(item.arguments)):
                self.blocks.append([])
                targets.append(None)
        for i, block in enumerate(self.blocks):
            follows = []
            last = block[-1] if block else None
            kind = last.name.split(".")[0] if last else ""
            if kind == "BRA" and ".DIV" not in last.name:
                label = TARGET.search(last.arguments)
                if label and label.group(1) in at:
                    follows.append(at[label.group(1)])
                # BRA P0, label and BRA.U UP0, label are conditional as @P0 BRA is
                if (last.conditional or re.match(r"!?U?P\d", last.arguments)) and i + 1 < len(self.blocks):
                    follows.append(i + 1)
            elif kind in ("BRX", "BRXU"):
                follows += [at[label] for label in re.findall(r"\.L_x_\d+", last.arguments) if label in at]
            elif kind in ("EXIT", "RET", "JMP") and not last.conditional:
                pass
            elif i + 1 < len(self.blocks):
                follows.append(i + 1)
            self.next.append(follows)
        self.loops = self._loops()

    def _loops(self):
        order, seen = [], {0}
        stack = [(0, iter(self.next[0]))]
        while stack:  # depth first: blocks after all that they lead to
            block, rest = stack[-1]
            for follower in rest:
                if follower not in seen:
                    seen.add(follower)
                    stack.append((follower, iter(self.next[follower])))
                    break
            else:
                order.append(block)
                stack.pop()
        order.reverse()
        place = {block: i for i, block in enumerate(order)}
        before = {block: [] for block in order}
        for block in order:
            for follower in self.next[block]:
                before[follower].append(block)
        parent = {0: 0}  # the nearest block that every way leads through (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm")
        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                known = [b for b in before[block] if b in parent]
                new = known[0]
                for other in known[1:]:
                    while new != other:
                        if place[new] > place[other]:
                            new = parent[new]
                        else:
                            other = parent[other]
                if parent.get(block) != new:
                    parent[block] = new
                    changed = True

        def dominates(head, block):
            while place[block] > place[head]:
                block = parent[block]
            return block == head

        loops = {}
        for block in order:
            for head in self.next[block]:
                if dominates(head, block):
                    body = loops.setdefault(head, {head})
                    waiting = [block]
                    while waiting:
                        b = waiting.pop()
                        if b not in body:
                            body.add(b)
                            waiting += before[b]
        self.reached, self.place = seen, place
        return list(loops.values())

    def innermost(self, block):
        around = [loop for loop in self.loops if block in loop]
        return min(around, key=len) if around else None

    def instructions(self, blocks):
        return [i for b in sorted(blocks) for i in self.blocks[b]]

    def most_per(self, loop, counts):
        """Of all ways once through a loop without loops within, the most instructions for each of those that counts(instruction) names."""
        def follow(block):
            return [f for f in self.next[block] if f in loop and f != head]

        head = min(loop, key=self.place.get)
        order = sorted(loop, key=self.place.get, reverse=True)
        size = {b: (len(self.blocks[b]), sum(map(counts, self.blocks[b]))) for b in loop}
        ratio = 0.0
        while True:  # Dinkelbach: the way with the greatest instructions - ratio * counted has a greater ratio, until none is above 0
            best = {}  # block: (value, instructions, counted) of the best way on from here, without and with something counted
            for block in order:
                instructions, counted = size[block]
                ways = [None, None]
                ends = [] if head not in self.next[block] else [(0, 0, 0)]
                for way in ends + [w for f in follow(block) for w in best[f] if w]:
                    new = (way[0] + instructions - ratio * counted, way[1] + instructions, way[2] + counted)
                    some = new[2] > 0
                    if ways[some] is None or new[0] > ways[some][0]:
                        ways[some] = new
                best[block] = ways
            way = best[head][1]
            if way is None or way[0] < 1e-6:
                return ratio
            ratio = way[1] / way[2]


def kernels_of(nvdisasm, cubin):
    """{symbol: Kernel}"""
    text = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    found, items, inside = {}, None, True
    for line in text.splitlines():
        section = SECTION.match(line)
        if section:
            items, inside = found.setdefault(section.group(1), []), True
            continue
        if items is None:
            continue
        function = FUNCTION.match(line)
        if function:
            inside = not function.group(1).startswith("$")  # what is called lies behind the kernel
            continue
        if not inside:
            continue
        label = LABEL.match(line)
        if label:
            items.append(label.group(1))
            continue
        instruction = INSTRUCTION.match(line)
        if instruction:
            items.append(Instruction(*instruction.groups()))
    return {symbol: Kernel(items) for symbol, items in found.items()}
