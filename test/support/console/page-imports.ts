// What the modules of the page import, as a browser resolves it: from the page's own files by path, from packages by the import map.

/** Reads a path below the origin; undefined: nothing is served there. */
export type Reads = (path: string) => Promise<string | undefined>

const ORIGIN = 'http://page'
const IMPORTS =
  /(?:^|[\n;}])\s*(?:import|export)\b(?:[^'"\n;]|\n)*?\bfrom\s*(["'])([^"'\n]+)\1|(?:^|[\n;])\s*import\s*(["'])([^"'\n]+)\3|\bimport\((["'])([^"'\n]+)\5\)/g

/** Modules that the entry of the page loads, and imports that name nothing that is served. */
export async function loadedBy(
  html: string,
  reads: Reads,
): Promise<{ readonly modules: readonly string[]; readonly missing: readonly string[] }> {
  const text = /<script type="importmap">(.*?)<\/script>/s.exec(html)?.[1] ?? '{}'
  const { imports = {} } = JSON.parse(text) as { readonly imports?: Readonly<Record<string, string>> }
  const entry = /<script type="module" src="([^"]+)">/.exec(html)?.[1]
  if (entry === undefined) throw new Error('the page has no entry')
  const seen = new Set<string>()
  const missing: string[] = []
  const load = async (path: string, by: string): Promise<void> => {
    if (seen.has(path)) return
    seen.add(path)
    const code = await reads(path)
    if (code === undefined) return void missing.push(`${by} imports ${path}`)
    for (const [, , from, , bare, , later] of code.matchAll(IMPORTS)) {
      const name = from ?? bare ?? later ?? ''
      const target = name.startsWith('.') ? new URL(name, `${ORIGIN}${path}`).pathname : imports[name]
      if (target === undefined) missing.push(`${path} imports ${name}`)
      else await load(target, path)
    }
  }
  await load(entry, 'the page')
  return { modules: [...seen], missing }
}
