// Finds a template's placeholders by the rules of its format. Refuses a position where a value could turn into something else.

export const TEMPLATE_FORMATS = ['toml', 'yaml', 'json', 'ini', 'shell', 'plain'] as const
export type TemplateFormat = (typeof TEMPLATE_FORMATS)[number]

/** A whole value; part of a quoted string ("double" or 'single'); the rest of a line; anywhere. */
export type Standing = 'value' | 'double' | 'single' | 'line' | 'any'

/** Two white space runs only match if a path is between them, which keeps it linear. */
export const PLACEHOLDER = /\{\{\s*(?:([^{}\s]+)\s*)?\}\}/g
/** Replaces a placeholder while a template is parsed; templates must not contain it themselves. */
const MARK = '\ue000'

interface ReadTemplate {
  /** Texts between the placeholders: one more than there are placeholders. */
  readonly texts: readonly string[]
  readonly paths: readonly string[]
  readonly standings: readonly Standing[]
}

export type TemplateResult =
  | { readonly ok: true; readonly template: ReadTemplate }
  | { readonly ok: false; readonly problem: string }

const READERS: Readonly<Record<TemplateFormat, (marked: string) => readonly (Standing | undefined)[]>> = {
  json: readJson,
  toml: (text) => readLines(text, tomlLine),
  yaml: readYaml,
  ini: (text) => readLines(text, iniLine),
  shell: readShell,
  plain: (text) => marksIn(text, 'any'),
}

const PLACES: Readonly<Record<TemplateFormat, string>> = {
  json: 'a value, or part of a quoted value',
  toml: 'a value behind "key =" on the same line (in a list, too), or part of such a value in double quotes',
  yaml: 'the whole value behind "key:" or "-", or part of such a value in double quotes on one line',
  ini: 'the value behind "key ="',
  shell: 'a word, or part of a quoted word; neither a comment nor an expansion',
  plain: 'any place',
}

export function readTemplate(text: string, format: TemplateFormat): TemplateResult {
  // From an object stored before this field existed, or by a newer release.
  if (!TEMPLATE_FORMATS.includes(format)) return { ok: false, problem: 'declares no format that is known here' }
  if (text.includes(MARK)) return { ok: false, problem: 'contains the character U+E000' }
  const paths = [...text.matchAll(PLACEHOLDER)].map(([, path = '']) => path)
  const texts = text.split(/\{\{\s*(?:[^{}\s]+\s*)?\}\}/)
  if (paths.length === 0) return { ok: true, template: { texts, paths, standings: [] } }
  const found = READERS[format](texts.join(MARK))
  const standings = found.filter((s) => s !== undefined)
  if (standings.length === paths.length) return { ok: true, template: { texts, paths, standings } }
  const path = paths[found.indexOf(undefined)] ?? paths[0] ?? ''
  return { ok: false, problem: `{{${path}}} does not stand where a value of ${format} can: use ${PLACES[format]}` }
}

function marksIn(text: string, standing: Standing | undefined): (Standing | undefined)[] {
  return Array.from({ length: text.split(MARK).length - 1 }, () => standing)
}

/** Finds strings and the text between them. A string before a colon is a key, which another value could duplicate. An unterminated one is read once. */
function readJson(text: string): readonly (Standing | undefined)[] {
  const found: (Standing | undefined)[] = []
  const sample = text.replaceAll(/"(?:[^"\\]|\\.)*(?:"(?:\s*:)?)?|[^"\s,:[\]{}]+/gsu, (token) => {
    const isWhole = token.startsWith('"') && token.endsWith('"')
    found.push(...marksIn(token, token === MARK ? 'value' : isWhole ? 'double' : undefined))
    return token === MARK ? '0' : token
  })
  return isJson(sample) ? found : marksIn(text, undefined)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Formats in which each line is parsed separately. */
function readLines(text: string, read: (line: string) => Standing[] | undefined): readonly (Standing | undefined)[] {
  // Lines inside these would be misread.
  const isLong = /"""|'''/.test(text)
  return text
    .split(/\r\n|[\n\r]/)
    .flatMap((line) => (line.includes(MARK) ? ((isLong ? undefined : read(line)) ?? marksIn(line, undefined)) : []))
}

const TOML_KEY = String.raw`(?:[A-Za-z0-9_-]+|"[^"\\${MARK}]*")`
const TOML_LINE = new RegExp(String.raw`^\s*${TOML_KEY}(?:\s*\.\s*${TOML_KEY})*\s*=(.*)$`, 's')
const TOML_TOKEN = new RegExp(
  String.raw`"(?:[^"\\]|\\[^${MARK}])*"|'[^'${MARK}]*'|[\w.+:-]+|[[\],]|${MARK}|\s+|#[^${MARK}]*$|(.)`,
  'gsu',
)

function tomlLine(line: string): Standing[] | undefined {
  const [, value] = TOML_LINE.exec(line) ?? []
  if (value === undefined) return undefined
  const found: Standing[] = []
  let before = ' '
  for (const [token, odd] of value.matchAll(TOML_TOKEN)) {
    if (odd !== undefined) return undefined
    const isApart = /[\s[\],]$/.test(before) || /^[\s[\],#]/.test(token)
    if (!isApart) return undefined
    if (token === MARK) found.push('value')
    else found.push(...(marksIn(token, 'double') as Standing[]))
    before = token
  }
  return found
}

const INI_LINE = new RegExp(String.raw`^\s*[^\s=:;#[${MARK}][^=:${MARK}]*[=:]`)
const iniLine = (line: string): Standing[] | undefined =>
  INI_LINE.test(line) ? (marksIn(line, 'line') as Standing[]) : undefined

const YAML_KEY = String.raw`(?:[A-Za-z_][\w./-]*|"[^"\\${MARK}]*")`
const YAML_LINE = new RegExp(
  String.raw`^( *)((?:- +)*)(${YAML_KEY}: +)?(${MARK}|"(?:[^"\\]|\\[^${MARK}])*")[ \t]*(?:[ \t]#[^${MARK}]*)?$`,
  's',
)
/** The lines below are text. */
const YAML_BLOCK = /(?:^|[\s:-])[|>][0-9+-]*\s*(?:\s#.*)?$/
const YAML_OPENS = /(?::|^\s*-|- )\s*(?:\s#.*)?$|^\s*- /

/** Accepts only values on their own line, below lines that cannot continue there: no text blocks, no flow style, no multi-line scalars. */
function readYaml(text: string): readonly (Standing | undefined)[] {
  const found: (Standing | undefined)[] = []
  let above: { readonly indent: number; readonly line: string }[] = []
  let isClear = true
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const bare = line.trim()
    if (bare === '' || (bare.startsWith('#') && !line.includes(MARK))) continue
    const indent = line.length - line.trimStart().length
    above = above.filter((a) => a.indent < indent)
    const parent = above.at(-1)?.line
    const isText = above.some((a) => YAML_BLOCK.test(a.line))
    if (line.includes(MARK)) {
      const [, , dash = '', key = '', value = ''] = YAML_LINE.exec(line) ?? []
      const isPlaced = (dash !== '' || key !== '') && (parent === undefined || YAML_OPENS.test(parent))
      const isGood = isClear && !isText && isPlaced && value !== ''
      found.push(...marksIn(line, isGood ? (value === MARK ? 'value' : 'double') : undefined))
    } else if (!isText && !isComplete(bare)) isClear = false
    above.push({ indent, line })
  }
  return found
}

/** Whether quotes and brackets that start on a line end on it. */
function isComplete(line: string): boolean {
  // An unterminated quote stays, with everything after it.
  const rest = line
    .replace(/"(?:[^"\\]|\\.)*("?)|'[^']*'/g, (_, end?: string) => (end === '' ? '"' : 's'))
    .replace(/(?:^|\s)#.*$/, '')
  return !/["[\]{}]/.test(rest.replaceAll(/\[[^[\]{}]*\]|\{[^[\]{}]*\}/g, 's')) && !/(?:^|[\s:-])'/.test(rest)
}

const SIMPLE_EXPANSION = /^\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?#@*!$-])/

/** Words, quotes and comments; no position is valid after anything that only a shell can interpret. */
function readShell(text: string): readonly (Standing | undefined)[] {
  const found: (Standing | undefined)[] = []
  let state: 'word' | 'double' | 'single' | 'comment' | 'lost' = 'word'
  for (let at = 0; at < text.length;) {
    const char = text[at] ?? ''
    const rest = text.slice(at, at + 64)
    let length = 1
    if (char === MARK)
      found.push(state === 'word' ? 'value' : state === 'comment' || state === 'lost' ? undefined : state)
    else if (state === 'single') state = char === "'" ? 'word' : 'single'
    else if (state === 'comment') state = char === '\n' ? 'word' : 'comment'
    else if (state !== 'lost') {
      const [expansion] = SIMPLE_EXPANSION.exec(rest) ?? []
      if (char === '\\') {
        length = 2
        if (rest[1] === MARK) state = 'lost'
        if (rest[1] === MARK) length = 1
      } else if (expansion !== undefined) {
        length = expansion.length
        // A value's letters would become part of the name.
        if (rest[length] === MARK && !expansion.endsWith('}')) state = 'lost'
      } else if (char === '$' || char === '`' || rest.startsWith('<<') || rest.startsWith('((')) state = 'lost'
      else if (char === '"') state = state === 'double' ? 'word' : 'double'
      else if (state === 'word' && char === "'") state = 'single'
      else if (state === 'word' && char === '#' && (at === 0 || /[\s;&|()]/.test(text[at - 1] ?? ''))) state = 'comment'
    }
    at += length
  }
  return found
}
