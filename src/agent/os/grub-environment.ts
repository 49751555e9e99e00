// The environment block of GRUB, as grub-editenv writes it. GRUB writes it in place while it boots, so its size never changes. Pure.

const HEADER = '# GRUB Environment Block\n'
const SIZE = 1_024
/** Larger blocks exist on no distribution; the bound keeps a file of others from being read as one. */
const MAX_SIZE = 32_768
const NAME = /^[\w.]+$/

export type GrubVariables = ReadonlyMap<string, string>

/** Undefined: not an environment block. */
export function parseGrubEnvironment(block: Buffer): GrubVariables | undefined {
  const text = block.toString('utf8')
  if (block.length > MAX_SIZE || !text.startsWith(HEADER)) return undefined
  const variables = new Map<string, string>()
  for (const line of linesOf(text.slice(HEADER.length))) {
    const at = line.indexOf('=')
    if (line.startsWith('#') || at < 1) continue
    variables.set(line.slice(0, at), line.slice(at + 1).replaceAll(/\\([\s\S])/g, '$1'))
  }
  return variables
}

/** Undefined: it does not fit, or a name or value cannot be written. */
export function grubEnvironment(variables: GrubVariables, size = SIZE): Buffer | undefined {
  let text = HEADER
  for (const [name, value] of variables) {
    if (!NAME.test(name) || value.includes('\0')) return undefined
    text += `${name}=${value.replaceAll(/[\\\n]/g, String.raw`\$&`)}\n`
  }
  const used = Buffer.byteLength(text)
  return used > size ? undefined : Buffer.from(text + '#'.repeat(size - used))
}

/** A value may have escaped line breaks. */
function linesOf(text: string): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? ''
    if (c === '\\') line += c + (text[++i] ?? '')
    else if (c === '\n') {
      lines.push(line)
      line = ''
    } else line += c
  }
  return lines
}
