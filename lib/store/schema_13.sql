-- From schema 12 to 13: lanes after the first that name an attempt, [[lane, point, trial, attempt, 1 if cut short], ...]; or NULL.
ALTER TABLE run ADD COLUMN lanes TEXT;
