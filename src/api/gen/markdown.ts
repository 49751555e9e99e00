// The little Markdown that generated pages need.
export const NOTE = '<!-- Generated from src/api by npm run gen. -->'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;')

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((r) => `| ${r.map(cell).join(' | ')} |`).join('\n')

export const code = (text: string): string => (text === '' ? '' : `\`${text}\``)

/** Blocks separated by empty lines; empty ones are left out. */
export const join = (blocks: readonly string[]): string => `${blocks.filter((b) => b !== '').join('\n\n')}\n`
