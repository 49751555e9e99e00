// Pure: reads the version of an operating system from its os-release file. An unknown system is treated like any other.

function parseOsRelease(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const at = line.indexOf('=')
      const value = line.slice(at + 1).trim()
      return at < 1 || line.startsWith('#') ? [] : [[line.slice(0, at).trim(), unquoted(value)]]
    }),
  )
}

const unquoted = (v: string): string =>
  v.length >= 2 && (v.startsWith('"') || v.startsWith("'")) && v.endsWith(v[0] ?? '')
    ? v.slice(1, -1).replace(/\\(["'$`\\])/g, '$1')
    : v

/** "debian 12 (bookworm)", "cos 77-12293.0.0". */
export function osVersion(text: string): string {
  const fields = parseOsRelease(text)
  const id = fields.get('ID') ?? 'unknown'
  const version = fields.get('VERSION') ?? fields.get('VERSION_ID') ?? ''
  const build = id === 'cos' ? `-${fields.get('BUILD_ID') ?? ''}` : ''
  return `${id} ${version}${build}`.trim()
}
