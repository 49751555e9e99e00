// What the copies of Node's builtins export that a fleet may import. A new name is read, and added here when it computes only.
const ASSERT =
  'AssertionError default doesNotMatch equal fail match notDeepStrictEqual deepStrictEqual notEqual notStrictEqual ok strictEqual throws'
const PATH =
  'basename default delimiter dirname extname format isAbsolute join normalize parse posix relative resolve sep'

const NAMES: Readonly<Record<string, string>> = {
  assert: ASSERT,
  'assert/strict': `${ASSERT} deepEqual notDeepEqual`,
  buffer: 'Buffer atob btoa default',
  path: PATH,
  'path/posix': PATH,
  querystring: 'decode default encode escape parse stringify unescape',
  url: 'URL URLSearchParams default domainToASCII domainToUnicode fileURLToPath pathToFileURL',
  util: 'TextDecoder TextEncoder default format inherits inspect isDeepStrictEqual stripVTControlCharacters toUSVString types',
}

export const BUILTIN_EXPORTS: ReadonlySet<string> = new Set(
  Object.entries(NAMES).flatMap(([module, names]) => names.split(' ').map((name) => `${module}.${name}`)),
)
