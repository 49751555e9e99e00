// Reads a providers file: which providers a program serves, with which options. Refuses invalid settings before anything starts.
import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { choice, freeform, list, obj, optional, str } from '#api/build.ts'
import { createFieldReader } from '#api/field-problems.ts'
import type { Problem } from '#api/problem.ts'
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { parseDocuments, type ParsedDocument } from '#lib/documents.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { OrphanPolicy, ProviderDefinition, ProviderTools } from './definition.ts'
import type { Provider } from './port.ts'
import { providersErrors } from './providers-errors.ts'
import { PROVIDERS } from './registry.ts'

/** A few lines per provider. */
const MAX_FILE_BYTES = 256 * 1024
const MAX_PROVIDERS = 32

const fileSchema = obj('A providers file.', {
  providers: list(
    'The providers that are served.',
    obj('A provider.', {
      name: str('Which provider.', { min: 1, max: 63 }),
      options: optional(freeform('Its options.', { maxBytes: MAX_FILE_BYTES })),
      orphans: optional(choice('What is done with hosts that belong to no Machine.', ['Report', 'Delete'])),
    }),
    { max: MAX_PROVIDERS },
  ),
})

/** A provider from the file, with checked options. */
export interface ServedProvider {
  readonly name: string
  /** Absolute paths from its options. */
  readonly paths: readonly string[]
  readonly writesForOthers: boolean
  readonly orphans: OrphanPolicy
  /** Nothing of it is outside of the program that serves it. */
  readonly isPrivate: boolean
  create(tools: ProviderTools): Promise<Provider>
}

export function readProvidersFile(
  file: string,
  known: readonly ProviderDefinition[] = PROVIDERS,
): readonly ServedProvider[] {
  return parseProviders(file, readText(file), known)
}

/** Without a file: those that need no options. */
export const defaultProviders = (known: readonly ProviderDefinition[] = PROVIDERS): readonly ServedProvider[] =>
  parseProviders('', '{"providers":[]}', known)

export function parseProviders(
  file: string,
  text: string,
  known: readonly ProviderDefinition[],
): readonly ServedProvider[] {
  const document = documentIn(file, text)
  const read = createFieldReader()
  const whole = read(fileSchema, document.value)
  if (whole.kind === 'Problems') {
    const [problem] = whole.problems
    const place = placeIn(file, document, problem.pointer)
    throw new KubeNodeError(providersErrors.KN11030_form({ place, what: whatIsWrong(problem, 'the file') }))
  }
  const names = new Set<string>()
  const served = whole.value.providers.map(({ name, options = {}, orphans }, i): ServedProvider => {
    const place = (pointer: string) => placeIn(file, document, `/providers/${i}${pointer}`)
    const definition = known.find((d) => d.name === name)
    if (definition === undefined) throw unknownProvider(name, place('/name'), known)
    const checked = read(definition.optionsSchema, options)
    if (checked.kind === 'Value') {
      const servedName = definition.servedName?.(checked.value) ?? name
      if (names.has(servedName))
        throw new KubeNodeError(providersErrors.KN11030_twice({ name: servedName, place: place('/name') }))
      names.add(servedName)
      const own = { ...definition, name: servedName, ...defined({ orphans }) }
      return servedProvider(own, checked.value, dirname(file))
    }
    const [problem] = checked.problems
    const what = whatIsWrong(problem, 'options')
    throw new KubeNodeError(providersErrors.KN11030_option({ name, what, place: place(`/options${problem.pointer}`) }))
  })
  const always = known.filter((d) => d.isAlwaysServed === true && !names.has(d.name))
  return [...always.map((d) => servedProvider(d, {}, '')), ...served]
}

function servedProvider(definition: ProviderDefinition, options: object, folder: string): ServedProvider {
  const names: readonly string[] = definition.paths
  const paths: [string, string][] = Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'string' && names.includes(name) ? [[name, resolve(folder, value)]] : [],
  )
  const whole = { ...options, ...Object.fromEntries(paths) }
  return {
    name: definition.name,
    paths: paths.map(([, path]) => path),
    writesForOthers: definition.writesForOthers === true,
    orphans: definition.orphans ?? 'Report',
    isPrivate: definition.isAlwaysServed === true && paths.length === 0,
    create: (tools) => definition.create(whole, tools),
  }
}

function readText(file: string): string {
  let why: string
  try {
    const stat = statSync(file)
    if (stat.isFile() && stat.size <= MAX_FILE_BYTES) return readFileSync(file, 'utf8')
    why = stat.isFile() ? `it has ${stat.size} bytes (limit ${MAX_FILE_BYTES})` : 'it is not a file'
  } catch (cause) {
    why = systemTrouble(cause)
  }
  throw new KubeNodeError(providersErrors.KN11030({ file, why }))
}

function documentIn(file: string, text: string): ParsedDocument {
  const { documents, problems } = parseDocuments(text, { refuseAliases: true })
  const [problem] = problems
  const [document, ...more] = documents
  if (problem !== undefined)
    throw new KubeNodeError(
      providersErrors.KN11030_form({ place: `${file}:${problem.line}`, what: `it cannot be read: ${problem.message}` }),
    )
  if (document === undefined || more.length > 0)
    throw new KubeNodeError(
      providersErrors.KN11030_form({ place: file, what: 'one YAML or JSON document is expected' }),
    )
  return document
}

const placeIn = (file: string, document: ParsedDocument, pointer: string): string =>
  `${file}:${document.placeOf(pointer).line}`

/** "options.dir is required", "lease must be longer than zero (got "0s")" */
function whatIsWrong({ pointer, message, seen, allowed, suggestion }: Problem, otherwise: string): string {
  const field = pointer === '' ? otherwise : pointer.slice(1).replaceAll('/', '.')
  const more = [
    ...(seen === undefined ? [] : [`got ${seen}`]),
    ...(allowed === undefined ? [] : [`allowed: ${allowed}`]),
    ...(suggestion === undefined ? [] : [`did you mean ${suggestion}?`]),
  ]
  return `${field} ${message}${more.length === 0 ? '' : ` (${more.join('; ')})`}`
}

function unknownProvider(name: string, place: string, known: readonly ProviderDefinition[]): KubeNodeError {
  const names = known.map((d) => d.name)
  const meant = didYouMean(name, names)
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
  return new KubeNodeError(
    providersErrors.KN1704_served({ name: JSON.stringify(name), place, hint, names: names.join(', ') }),
  )
}
