// Makes untrusted text safe to show: nothing in it controls a terminal, changes the reading direction, or works as a CI runner command (S20, S33).

/**
 * Control characters except newline and tab, separators that some viewers treat as a newline, and invisible characters by Unicode: direction marks, joiners,
 * fillers, tags, variants. Texts that appear equal are equal.
 */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** GitHub reads `::name::` at the start of a line, and `##[name]` anywhere; Azure `##vso[`, TeamCity `##teamcity[`. */
const LINE_COMMAND = /^([^\S\n\r\u2028\u2029]*)::(?=[A-Za-z])/gm
const COMMAND = /##(?=\[|[A-Za-z]{1,20}\[)/g

/** Most text needs no scan. */
const PLAIN = /^[\n\t -~]*$/
const PLAIN_JSON = /^[\n\t -"$-~]*$/

/** For a page, where text is never a command. */
export const visible = (text: string): string => (PLAIN.test(text) ? text : text.replace(UNSEEN, '\ufffd'))

/** Keeps newlines and tabs: for multi-line text with trusted line breaks. */
export const printable = (text: string): string =>
  visible(text).replace(LINE_COMMAND, '$1\ufffd::').replace(COMMAND, '#\ufffd#')

/** One line, whatever names and values contain. */
export const printableLine = (text: string): string => printable(text.replaceAll('\n', '\ufffd'))

/** With a newline, for output. */
export const shownLine = (text: string): string => `${printableLine(text)}\n`
export const shownLines = (lines: readonly string[]): string => lines.map(shownLine).join('')

/** JSON text with the same data, without characters that act where they are shown. */
export const withoutUnseen = (json: string): string =>
  PLAIN_JSON.test(json)
    ? json
    : json
        .replace(UNSEEN, (c) =>
          [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
        )
        .replace(COMMAND, '#\\u0023')

/** JSON for output. */
export const shownJson = (value: unknown): string => `${withoutUnseen(JSON.stringify(value, null, 2))}\n`

/** In one line, without a newline. */
export const shownJsonLine = (value: unknown): string => withoutUnseen(JSON.stringify(value))
