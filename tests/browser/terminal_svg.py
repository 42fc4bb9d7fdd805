"""What a terminal shows, as a picture: its characters in their places, and its colours."""
import html
import re

import test_live

WIDTH_PX, HEIGHT_PX, MARGIN_PX = 8.43, 18, 14   # of a character
PALETTE = {0: "#e6edf3", 31: "#ff7b72", 32: "#56d364", 33: "#e3b341", 36: "#56d4dd"}   # colours that benchctl writes
BOLD = 1


class Screen(test_live.Screen):
    """With the colour of each piece of text: whole lines, as benchctl colours them, or words of lines that are written once."""

    def __init__(self, columns):
        super().__init__(columns)
        self.color, self.is_bold, self.pieces = 0, False, {}   # row: [(column, text, colour, is bold)]

    def feed(self, text):
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part[0] not in "\x1b\r\n":
                row = [piece for piece in self.pieces.get(self.row, []) if piece[0] < self.column]
                self.pieces[self.row] = [*row, (self.column, part, self.color, self.is_bold)]
            super().feed(part)

    def control(self, letter, number):
        super().control(letter, number)
        if letter == "m" and number == BOLD:
            self.is_bold = True
        elif letter == "m":
            assert number in PALETTE, number
            self.color, self.is_bold = number, False
        elif letter == "K":
            self.pieces[self.row] = [piece for piece in self.pieces.get(self.row, []) if piece[0] < self.column]
        elif letter == "J":
            self.pieces = {row: pieces for row, pieces in self.pieces.items() if row < self.row}

    def wrapped_rows(self):
        """The rows as the terminal shows them: what is too long goes on in the next one."""
        for row, line in enumerate(self.lines):
            for start in range(0, max(1, len(line.rstrip())), self.columns):
                cut = ((column - start, text, *how) for column, text, *how in self.pieces.get(row, []))
                cut = ((max(column, 0), text[max(-column, 0):][:self.columns - max(column, 0)], *how) for column, text, *how in cut)
                yield [piece for piece in cut if piece[0] < self.columns and piece[1].strip()]

    def svg(self, title, n_rows):
        """The last rows of the screen, without empty ones at the end."""
        rows = list(self.wrapped_rows())
        while rows and not rows[-1]:
            rows.pop()
        texts = []
        for i, row in enumerate(rows[-n_rows:]):
            for column, text, color, is_bold in row:
                weight = ' font-weight="bold"' if is_bold else ""
                texts.append(f'<text x="{MARGIN_PX + WIDTH_PX * column:.1f}" y="{MARGIN_PX + HEIGHT_PX * i + 13}" '
                             f'textLength="{WIDTH_PX * len(text):.1f}" fill="{PALETTE[color]}"{weight}>{html.escape(text)}</text>')
        width, height = WIDTH_PX * self.columns + 2 * MARGIN_PX, HEIGHT_PX * min(len(rows), n_rows) + 2 * MARGIN_PX
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img" aria-label="{html.escape(title)}">'
                '<style>text{font:14px "DejaVu Sans Mono",monospace;white-space:pre}</style>'
                f'<rect width="100%" height="100%" fill="#0d1117"/>{"".join(texts)}</svg>')
