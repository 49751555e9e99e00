// The modules that the page needs before it can draw anything: what its entry imports, directly or not. Views are imported once they are opened.

/** Type-only imports are left out: browsers do not load them. A missing or extra entry costs only time, because modules import what they need themselves. */
const IMPORT = /^(?:import|export)\b(?! type\b)[^'"();]*\bfrom *(?:'([^'\n]+)'|"([^"\n]+)")/gm

interface Modules {
  /** Undefined: not served. */
  readonly read: (path: string) => string | undefined
  /** Paths of what is imported by name. */
  readonly named: ReadonlyMap<string, string>
}

/** Paths, each behind the first module that imports it. */
export function firstModules(entry: string, { read, named }: Modules): readonly string[] {
  const found = new Set([entry])
  for (const path of found) {
    for (const [, single, double] of (read(path) ?? '').matchAll(IMPORT)) {
      const target = pathOf(single ?? double ?? '', path, named)
      if (target !== undefined && read(target) !== undefined) found.add(target)
    }
  }
  return [...found]
}

const pathOf = (specifier: string, from: string, named: ReadonlyMap<string, string>): string | undefined =>
  specifier.startsWith('.') ? new URL(specifier, `http://page/${from}`).pathname.slice(1) : named.get(specifier)
