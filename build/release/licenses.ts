// Licenses as SPDX writes them: expressions of npm as they are, short names of Debian by the identifier of SPDX, and those without one by a reference. Pure.

export interface Declared {
  /** Of SPDX. */
  readonly expression: string
  /** What SPDX has no identifier for, by the reference that the expression uses. */
  readonly references: ReadonlyMap<string, string>
}

/** No license was chosen, and nothing is known of it. */
const UNKNOWN: Declared = { expression: 'NOASSERTION', references: new Map() }

const IDENTIFIER = '[A-Za-z0-9][A-Za-z0-9.-]*\\+?'
/** `MIT`, `(MIT OR Apache-2.0)`; npm also allows sentences. */
const EXPRESSION = new RegExp(`^(?:${IDENTIFIER}|\\(${IDENTIFIER}(?: (?:AND|OR|WITH) ${IDENTIFIER}){1,8}\\))$`)

/** `LGPL-2+`, `GPL-3`, `LGPL-3.0+`, `GFDL-1.2+`: a number alone is its first version. */
const GNU = /^(A?GPL|LGPL|GFDL)-(\d)(\.\d)?(\+)?$/
const BY_DEBIAN: Readonly<Record<string, string>> = {
  'Apache-2': 'Apache-2.0',
  'BSD-2-clause': 'BSD-2-Clause',
  'BSD-3-clause': 'BSD-3-Clause',
  'BSD-4-clause': 'BSD-4-Clause',
  'BSD-4-clause-UC': 'BSD-4-Clause-UC',
  Boost: 'BSL-1.0',
  Expat: 'MIT',
  'OpenLDAP-2.8': 'OLDAP-2.8',
  zlib: 'Zlib',
}
const OF_SPDX: ReadonlySet<string> = new Set([
  'Apache-2.0',
  'BSD-3-Clause',
  'BSD-4-Clause-UC',
  'curl',
  'FSFULLR',
  'ISC',
  'MIT',
  'MPL-2.0',
  'OLDAP-2.8',
  'OpenSSL',
  'X11',
  'Zlib',
])

export const npmLicense = ([text = '']: readonly string[]): Declared =>
  EXPRESSION.test(text) ? { expression: gnuOf(text) ?? text, references: new Map() } : UNKNOWN

/** All of them hold for some file of the package. */
export function debianLicense(names: readonly string[]): Declared {
  if (names.length === 0) return UNKNOWN
  const references = new Map<string, string>()
  const identifiers = names.map((name) => {
    const known = gnuOf(name) ?? BY_DEBIAN[name] ?? (OF_SPDX.has(name) ? name : undefined)
    if (known !== undefined) return known
    const reference = `LicenseRef-Debian-${name.replaceAll('+', '-or-later').replaceAll(/[^A-Za-z0-9.]+/g, '-')}`
    references.set(reference, name)
    return reference
  })
  return { expression: [...new Set(identifiers)].toSorted().join(' AND '), references }
}

function gnuOf(name: string): string | undefined {
  const [, family, major, minor = '.0', later] = GNU.exec(name) ?? []
  return family === undefined ? undefined : `${family}-${major}${minor}-${later === undefined ? 'only' : 'or-later'}`
}

const HEAD = /^Format:/
const NAME = /^License:[ \t]*(\S[^\n]{0,100})$/gm

/** The short names in a copyright file of Debian; none where it is written for people alone. */
export function namedLicenses(copyright: string): readonly string[] {
  if (!HEAD.test(copyright)) return []
  return [...new Set([...copyright.matchAll(NAME)].map(([, name = '']) => name.trim()))].toSorted()
}
