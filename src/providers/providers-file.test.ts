// Which providers files are accepted or refused; errors name the place, the provider, the field and the remedy.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { obj } from '#api/build.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DefinitionFor, path, type ProviderTools } from './definition.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { defaultProviders, parseProviders, readProvidersFile, type ServedProvider } from './providers-file.ts'
import { PROVIDERS } from './registry.ts'
import { OWN_PROVIDERS } from '#api/own-providers.ts'

const FILE = '/etc/kubenode/providers.yaml'
const served = (text: string) => parseProviders(FILE, text, PROVIDERS)

function refusal(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    return messageOf(error)
  }
  return 'taken'
}

const plain = (all: readonly ServedProvider[]) => all.map(({ name, paths }) => [name, ...paths])

describe('a file that can be meant', () => {
  test.each<[string, string, readonly (readonly string[])[]]>([
    ['YAML', 'providers:\n- name: process\n  options: {dir: /srv/nodes}\n', [['static'], ['process', '/srv/nodes']]],
    ['JSON', '{"providers":[{"name":"process","options":{"dir":"/n"}}]}', [['static'], ['process', '/n']]],
    ['no provider', 'providers: []', [['static']]],
    ['static without options', 'providers: [{name: static}]', [['static']]],
    ['static with its notes', 'providers: [{name: static, options: {notes: /n}}]', [['static', '/n']]],
    [
      'a path from its own folder',
      'providers: [{name: process, options: {dir: nodes}}]',
      [['static'], ['process', '/etc/kubenode/nodes']],
    ],
    [
      'defaults',
      'providers: [{name: nspawn, options: {dir: /m}}]',
      [['static'], ['nspawn', '/m', '/var/lib/kubenode/trees']],
    ],
    [
      'all at once',
      'providers: [{name: hollow, options: {dir: /h, kubeconfig: admin.conf}}, {name: process, options: {dir: ../n}}]',
      [['static'], ['hollow', '/h', '/etc/kubenode/admin.conf'], ['process', '/etc/n']],
    ],
  ])('%s', (_, text, expected) => expect(plain(served(text))).toEqual(expected))

  test('only the trees of machines are written for other users', () => {
    const all = served('providers: [{name: nspawn, options: {dir: /m}}, {name: process, options: {dir: /n}}]')
    expect(all.filter((p) => p.writesForOthers).map((p) => p.name)).toEqual(['nspawn'])
  })

  test('without a file only what needs nothing is served', () =>
    expect(plain(defaultProviders())).toEqual([['static']]))
})

const hollow = (more: string) => `providers:\n- name: hollow\n  options:\n    dir: /h\n    kubeconfig: /k\n${more}`

describe('a file that cannot be meant is refused', () => {
  test.each<[string, string, RegExp]>([
    [
      'nothing in it',
      '',
      /^KN11030: .*providers.yaml: one YAML or JSON document is expected; write a list "providers"/,
    ],
    ['two documents', 'providers: []\n---\nproviders: []\n', /^KN11030: .* one YAML or JSON document/],
    ['no YAML', 'providers: [', /^KN11030: .*providers.yaml:1: it cannot be read/],
    ['a list', '[]', /^KN11030: .*: the file has the wrong type \(got a list of 0; allowed: object\)/],
    ['a map of providers', 'providers: {process: {}}', /^KN11030: .*yaml:1: providers has the wrong type .*array/],
    ['an unknown key', 'provider: []', /^KN11030: .*(providers is required|did you mean providers\?)/],
    ['a key twice', 'providers: []\nproviders: []', /^KN11030: .*yaml:2: .*used twice/],
    ['an alias', 'providers: [&a {name: static}, *a]', /^KN11030/],
    ['a provider without a name', 'providers:\n- options: {}', /^KN11030: .*yaml:2: providers.0.name is required/],
    [
      'a typo in a name',
      'providers:\n- name: static\n- name: proces\n',
      /^KN1704: .*"proces" at .*yaml:3: no provider has this name \(did you mean process\?\); use one of static, process/,
    ],
    ['a name like nothing', 'providers: [{name: gcp}]', /^KN1704: .*has this name; use one of/],
    ['a name of every object', 'providers: [{name: constructor}]', /^KN1704/],
    [
      'a provider twice',
      'providers:\n- name: process\n  options: {dir: /a}\n- name: process\n  options: {dir: /b}\n',
      /^KN11030: cannot serve the provider process twice: it is listed again at .*yaml:4; keep one/,
    ],
    [
      'an option that is missing',
      'providers: [{name: process}]',
      /^KN11030: cannot serve the provider process at .*yaml:1: dir is required; correct the option; docs/,
    ],
    [
      'hollow agents without an identity',
      'providers: [{name: hollow, options: {dir: /h}}]',
      /^KN11030: .*kubeconfig is required/,
    ],
    [
      'a typo in an option',
      hollow('    leese: 5s\n'),
      /^KN11030: .*hollow at .*yaml:6: leese is not a known field .*did you mean lease\?/,
    ],
    ['a duration that is none', hollow('    lease: 5\n'), /^KN11030: .*yaml:6: lease has the wrong type/],
    ['a Lease that is never renewed', hollow('    lease: 0s\n'), /^KN11030: .*lease must be longer than zero/],
    ['a path with a line break', '{"providers":[{"name":"process","options":{"dir":"/a\\nb"}}]}', /^KN11030: .*a path/],
    ['options that are a text', 'providers: [{name: process, options: /n}]', /^KN11030: .*options has the wrong type/],
    [
      'more than anybody serves',
      JSON.stringify({ providers: Array.from({ length: 33 }, () => ({ name: 'static' })) }),
      /^KN11030: .*items/,
    ],
    ['what nests deeply', `{"providers":${'['.repeat(40)}${']'.repeat(40)}}`, /^KN11030: .*nested too deeply/],
  ])('%s', (_, text, message) => expect(refusal(() => served(text))).toMatch(message))
})

describe('a file on disk', () => {
  let dir: string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'providers-file-'))
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))

  test('that is not there, is a folder, or is too large is refused', async () => {
    const large = join(dir, 'large.yaml')
    await writeFile(large, '#'.repeat(300_000))
    expect(refusal(() => readProvidersFile(join(dir, 'none')))).toMatch(
      /^KN11030: .*: there is no such file; name a YAML or JSON file/,
    )
    expect(refusal(() => readProvidersFile(dir))).toMatch(/^KN11030: .*it is not a file/)
    expect(refusal(() => readProvidersFile(large))).toMatch(/^KN11030: .*300000 bytes \(limit 262144\)/)
  })

  test('makes the providers that it lists', async () => {
    const file = join(dir, 'p.yaml')
    await writeFile(
      file,
      'providers: [{name: static, options: {notes: notes}}, {name: process, options: {dir: nodes}}]',
    )
    const made = await Promise.all(readProvidersFile(file).map((p) => p.create(tools)))
    expect(made.map((p) => p.name)).toEqual(['static', 'process'])
    expect(await Promise.all(made.map((p) => p.list().then((l) => l.hosts)))).toEqual([[], []])
  })
})

const tools: ProviderTools = {
  clock: systemClock,
  log: silentLogger,
  node: process.execPath,
  entries: { agent: '/agent.ts', hollow: '/hollow.ts' },
  env: {},
  userData: () => '',
}

test('names are unique, and every path is an option', () => {
  expect(new Set(PROVIDERS.map((p) => p.name)).size).toBe(PROVIDERS.length)
  for (const { paths, optionsSchema } of PROVIDERS)
    expect(Object.keys(optionsSchema.schema.properties ?? {})).toEqual(expect.arrayContaining([...paths]))
})

test('another provider is a definition in the list, and nothing else', async () => {
  const optionsSchema = obj('Options of the provider memory.', { region: path('Where.') })
  const memory: DefinitionFor<typeof optionsSchema> = {
    name: 'memory',
    doc: 'Hosts of nowhere.',
    optionsSchema,
    paths: [],
    create: async (_, { clock }) => new MemoryProvider({ clock }),
  }
  const [, own] = parseProviders(FILE, 'providers: [{name: memory, options: {region: x}}]', [...PROVIDERS, memory])
  expect((await own?.create(tools))?.name).toBe('memory')
})

test('the names that lint takes for providers of KubeNode are those of the registry; a remote one has a name of its own', () => {
  const names = PROVIDERS.map((p) => p.name).filter((name) => name !== 'remote')
  expect(names.toSorted()).toEqual(OWN_PROVIDERS.toSorted())
})
