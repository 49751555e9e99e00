// Replacements of Node.js's builtin modules for fleet code and the packages of the release: copies with only these names. Computation only: no files,
// network, processes, time or randomness, and no way to create objects of arbitrary classes.
import { createHash, hash } from 'node:crypto'
import { posix } from 'node:path'
import querystring from 'node:querystring'
import url from 'node:url'
import util from 'node:util'
import { assertions } from './assertions.ts'
import { clonePlain } from './clone.ts'
import { format, show } from './shown.ts'

export type Builtin = Readonly<Record<string, unknown>>
export type Builtins = Readonly<Record<string, Builtin>>

/** The names that a fleet may import. */
export const BUILTIN_NAMES = [
  'assert',
  'assert/strict',
  'buffer',
  'path',
  'path/posix',
  'querystring',
  'url',
  'util',
] as const

function only(module: object, names: string): Record<string, unknown> {
  const all = module as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    names.split(' ').map((name) => {
      if (!Object.hasOwn(all, name)) throw new Error(`this Node has no ${name} to hand on`)
      return [name, all[name]]
    }),
  )
}

/** Fails with the module's name: a fleet has no access to the machine. */
const refusing = (module: string, names: string): Builtin =>
  Object.fromEntries(
    names.split(' ').map((name) => [
      name,
      () => {
        throw new Error(`a fleet has no ${module}.${name}: it reads no files, starts no processes and has no network`)
      },
    ]),
  )

class Encoder {
  readonly encoding = 'utf-8'
  encode = (text: unknown = ''): Uint8Array => new Uint8Array(Buffer.from(String(text), 'utf8'))
}

/** Node's own version exposes the handle of its converter. */
class Decoder {
  readonly #real: util.TextDecoder

  constructor(encoding: unknown = 'utf-8', options?: { readonly fatal?: boolean; readonly ignoreBOM?: boolean }) {
    this.#real = new util.TextDecoder(String(encoding), {
      fatal: options?.fatal === true,
      ignoreBOM: options?.ignoreBOM === true,
    })
  }

  get encoding(): string {
    return this.#real.encoding
  }

  decode(bytes?: Uint8Array, options?: { readonly stream?: boolean }): string {
    return this.#real.decode(bytes, { stream: options?.stream === true })
  }
}

/** Called once, after time and randomness are frozen. `process` is the fleet's. */
export function builtinsOf(process: object): { readonly fleet: Builtins; readonly release: Builtins } {
  const path = only(
    posix,
    'basename delimiter dirname extname format isAbsolute join normalize parse relative resolve sep',
  )
  path['posix'] = path
  const buffer = { Buffer, ...base64() }
  const text = { TextDecoder: Decoder, TextEncoder: Encoder }
  const fleet = {
    assert: assertions(false) as Builtin,
    'assert/strict': assertions(true) as Builtin,
    buffer,
    path,
    'path/posix': path,
    querystring: only(querystring, 'decode encode escape parse stringify unescape'),
    url: only(url, 'URL URLSearchParams domainToASCII domainToUnicode fileURLToPath pathToFileURL'),
    util: {
      ...only(util, 'inherits isDeepStrictEqual stripVTControlCharacters toUSVString types'),
      ...text,
      format,
      inspect: show,
    },
  } satisfies Record<(typeof BUILTIN_NAMES)[number], Builtin>
  const release = {
    ...fleet,
    process: process as Builtin,
    crypto: { createHash, hash },
    os: refusing('os', 'tmpdir'),
    child_process: refusing('child_process', 'execFileSync spawnSync'),
    fs: refusing(
      'fs',
      'existsSync lstatSync mkdirSync mkdtempSync readFileSync readdirSync rmSync statSync writeFileSync',
    ),
  }
  return { fleet, release }
}

/** Globals of Node.js that these copies also export. */
export const globalsOf = ({ buffer, util: text }: Builtins): Builtin => ({
  atob: buffer?.['atob'],
  btoa: buffer?.['btoa'],
  TextDecoder: text?.['TextDecoder'],
  TextEncoder: text?.['TextEncoder'],
  structuredClone: (value: unknown) => clonePlain(value),
  queueMicrotask: (run: () => unknown) => void Promise.resolve().then(() => run()),
})

/** The error that Node.js throws for bad text is an object that it would also transfer. */
function base64(): Builtin {
  const [decode, encode] = [globalThis.atob, globalThis.btoa]
  const checked = (convert: (text: string) => string) => (text: unknown) => {
    try {
      return convert(String(text))
    } catch {
      throw new TypeError('The text is not correctly encoded')
    }
  }
  return { atob: checked(decode), btoa: checked(encode) }
}
