// B8: what each of the two units contributes. Two models in one program share code and no state: there is no global config.
#pragma once

struct Facts {
  int hidden;
  int group;          // query heads a K/V head
  float normalised;   // the first value of a row of ones, hidden wide, normalised and weighted by 2
};
Facts facts_of_a();
Facts facts_of_b();
