// Makes text from others safe to show: nothing in it steers a terminal, changes the reading direction, or works as a command of a CI runner (S20, S33).

/**
 * Control characters but newline and tab, separators that some viewers take for a newline, and what Unicode says not to show or to show as nothing: marks that
 * turn the reading direction, joiners, fillers, tags, variants. Two texts that look alike are alike.
 */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** GitHub reads `::name::` at the start of a line, and `##[name]` anywhere; Azure `##vso[`, TeamCity `##teamcity[`. */
const LINE_COMMAND = /^([^\S\n\r\u2028\u2029]*)::(?=[A-Za-z])/gm
const COMMAND = /##(?=\[|[A-Za-z]{1,20}\[)/g

/** Most text has nothing to look for. */
const PLAIN = /^[\n\t -~]*$/

/** For a page, where no text is a command. */
export const visible = (text: string): string => (PLAIN.test(text) ? text : text.replace(UNSEEN, '\ufffd'))

/** Newlines and tabs stay: for text of several lines whose line breaks are our own. */
export const printable = (text: string): string =>
  visible(text).replace(LINE_COMMAND, '$1\ufffd::').replace(COMMAND, '#\ufffd#')

/** One line, whatever names and values hold. */
export const printableLine = (text: string): string => printable(text.replaceAll('\n', '\ufffd'))

/** With its end, for output. */
export const shownLine = (text: string): string => `${printableLine(text)}\n`
export const shownLines = (lines: readonly string[]): string => lines.map(shownLine).join('')

/** JSON for output: equal data, without a character that acts where it is shown. */
export const shownJson = (value: unknown): string =>
  `${JSON.stringify(value, null, 2)
    .replace(UNSEEN, (c) =>
      [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
    )
    .replace(COMMAND, '#\\u0023')}\n`
