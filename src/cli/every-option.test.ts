// A right and a wrong use of every command and option. Walks the command tree: a command or option without a row fails.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Command, Option } from 'commander'
import { afterAll, describe, expect, test } from 'vitest'
import { generateKey } from '#api/trust/keys.ts'
import { buildProgram, run } from './program.ts'

const io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }

/** By flags, a valid value. True: it takes none. */
const OPTIONS: Readonly<Record<string, string | true | readonly [string, string]>> = {
  '-f, --filename <file>': 'a',
  '--kubernetes <minors>': '1.36',
  '--image <old=new>': 'a=b',
  '--after-nodes': true,
  '-A, --all-namespaces': true,
  '--accept-new-keys': true,
  '--address <ip>': '10.0.0.1',
  '--admin': true,
  '--advertise <name>': 'a.example.org',
  '--address <socket>': 'a',
  '--agent <dir>': 'a-folder',
  '--agent-identity <form>': 'certificate',
  '--all': true,
  '--all-waiting <count>': '1',
  '--arch <arch>': 'amd64',
  '--arch <list>': 'amd64,arm64',
  '--artifact <file>': 'a.file',
  '--artifact-base <url>': 'https://example.org/a',
  '--artifact-ca <file>': 'a.file',
  '--artifact-trust <whose>': 'host',
  '--artifacts <dir>': 'a-folder',
  '--artifacts-cert <file>': 'a.file',
  '--artifacts-folder <dir>': 'a-folder',
  '--artifacts-host <names>': 'a',
  '--artifacts-key <file>': 'a.file',
  '--artifacts-listen <address:port>': '127.0.0.1:1',
  '--artifacts-oci <reference>': 'a/b:1',
  '--as <version>': 'a',
  '--at <time>': '1h',
  '--base <rev>': 'HEAD',
  '--base-rules <file>': 'a.file',
  '--branch <name>': 'a-name',
  '--ca <file>': 'a.file',
  '--cache <dir>': 'a-folder',
  '--call-allow <places>': 'a',
  '--cert <file>': 'a.file',
  '--certificate-life <duration>': '1h',
  '--check': true,
  '-c, --container <component>': 'beacon',
  '--cloud-init': true,
  '--console-config <file>': 'a.file',
  '--console-listen <address:port>': '127.0.0.1:1',
  '--control-planes <dir>': 'a-folder',
  '--control-planes <socket>': 'a',
  '--control-plane-versions <file>': 'a',
  '--control-socket <file>': 'a',
  '--cluster <name>': 'a-name',
  '--commit <id>': 'abcdef1',
  '--commit <rev>': 'HEAD',
  '--component <name>': 'a-name',
  '--components <dir>': 'a-folder',
  '--context <name>': 'a-name',
  '-d, --dir <folder>': 'a-folder',
  '--data <dir>': 'a-folder',
  '--delete <host>': 'cloud://a',
  '--delete-crds': true,
  '--detailed-exitcode': true,
  '--diff': true,
  '--digest <digest>': 'd',
  '--docker-config <file>': 'a.file',
  '--dirty': true,
  '--driver <name>': 'process',
  '--dry-run': true,
  '--dry-run [where]': 'server',
  '--even-if-absent': true,
  '--exec <command>': '/usr/bin/lamp',
  '--expires <time>': '2027-01-01T00:00:00Z',
  '--export': true,
  '-f, --follow': true,
  '-f, --output <file>': 'a.file',
  '--fail-on <condition>': 'missed > 0',
  '--fail-on <what>': ['risk=high,loosened', 'nonsense'],
  '--field-selector <fields>': 'metadata.name=a',
  '--file <file=target>': 'a=/b',
  '--file <file>': 'a.file',
  '--fleet-cluster <name>': 'a',
  '--for <duration>': '1h',
  '--follow <file>': 'a.file',
  '--force': true,
  '--from <file>': 'a.file',
  '--from <time>': '2026-02-01T02:00:00Z',
  '--git <url>': 'https://example.org/a',
  '--git-allow <hosts>': 'git.example.org,localhost:3000',
  '--health-listen <address:port>': '127.0.0.1:1',
  '--history <dir>': 'a-folder',
  '--history <place>': 'a-folder',
  '--history-days <n>': '1',
  '--history-size <GiB>': '1',
  '--host-programs': true,
  '--programs-in-clusters <file>': 'a.file',
  '--hosted <program>': 'approver',
  '--hosted-heap <MiB>': '64',
  '--hosted-logs <dir>': 'a-folder',
  '--hosted-per-process <n>': '1',
  '--hooks-listen <address:port>': '127.0.0.1:1',
  '--host': true,
  '--host <address>': '127.0.0.1',
  '--host-ca <file>': 'a.file',
  '--host-role <name>': 'node',
  '--host-server <url>': 'https://example.org/a',
  '--hub': true,
  '--ignore <checks>': 'a-check',
  '--image <reference>': 'a/b:1',
  '--insecure [host]': 'a',
  '--inventory <file>': 'a.file',
  '--inspection-allow <origins>': 'a',
  '--join-script <file>': 'a.file',
  '--join-script <sha256>': '00000000',
  '--keep <keyId>': '0123456789abcdef',
  '--keep-agents': true,
  '--keep-namespace': true,
  '--known-hosts <file>': 'a.file',
  '--key <file>': 'a.file',
  '--key <json>': 'a',
  '--kubeconfig <file>': 'a.file',
  '-L, --label-columns <labels>': 'zone,pool',
  '--for <kind/name>': 'machine/a',
  '--ignore-not-found': true,
  '--mirror <url>': 'https://mirror.example',
  '--revision <revision>': '1',
  '--machines <number>': '10',
  '--seeds <number>': '3',
  '--show-kind': true,
  '--types <types>': ['Warning', 'nonsense'],
  '--watch-only': true,
  '-l, --selector <labels>': 'a=b',
  '--leave <target>': '/b',
  '--list': true,
  '--listen <address:port>': '127.0.0.1:1',
  '--local-fleet <dir>': 'a-folder',
  '--local-repository <folder>': 'a-folder',
  '--log-level <level>': 'debug',
  '--max-repository <MiB>': '1024',
  '--metrics-announce <dir>': 'a-folder',
  '--metrics-client-ca <file>': 'a.file',
  '--metrics-insecure': true,
  '--metrics-listen <address:port>': '127.0.0.1:1',
  '--metrics-port <n>': '1',
  '--metrics-tls-cert <file>': 'a.file',
  '--metrics-tls-key <file>': 'a.file',
  '-n, --namespace <name>': 'a-name',
  '--most <n>': '1',
  '--planes-per-process <n>': '1',
  '--plane-process': true,
  '--webhook-allow <places>': '127.0.0.1:1',
  '--webhook-allow-in <folder>': 'a-folder',
  '--webhook-announce <file>': 'a.file',
  '--tenants-apart': true,
  '--name <name>': 'a-name',
  '--name <ref>': 'a/b:1',
  '--namespace <name>': 'a-name',
  '--node-exporter <port>': '9100',
  '--new-key <file>': 'a.file',
  '--no-gates': true,
  '--no-headers': true,
  '--no-install': true,
  '--no-loops': true,
  '--no-server': true,
  '--no-start': true,
  '--no-wait': true,
  '--node <file>': 'a.file',
  '--node <files...>': 'a',
  '--node-folder <folder>': 'a-folder',
  '--nodes <n>': '1',
  '--now': true,
  '-o, --output <form>': ['json', 'nonsense'],
  '-o, --output <format>': 'yaml',
  '--offline': true,
  '--old-key <file>': 'a.file',
  '--os <os>': 'linux',
  '--out <dir>': 'a-folder',
  '--out <file>': 'a.file',
  '--output <path>': 'a',
  '--params <key=value>': 'zone=a',
  '--path <dir>': 'a-folder',
  '--pool <name>': 'a-name',
  '--port <n>': '1',
  '--pre': true,
  '--prefix <dir>': 'a-folder',
  '--prometheus-url <url>': 'https://example.org/a',
  '--provider <name>': 'a',
  '--providers <file>': 'a.file',
  '--providers-shared': true,
  '--proxy <url>': 'https://example.org/a',
  '--proxy-api': true,
  '--proxy-except <hosts>': '10.0.0.0/8',
  '--reason <why>': 'why',
  '--recipe <name>': 'kubelet',
  '--program <file>': 'a.file',
  '--programs <dir>': 'a-folder',
  '--real': true,
  '--record-rights': true,
  '--redact': true,
  '--region <name>': 'r-1',
  '--registry <prefix>': 'a',
  '--render <place>': 'job',
  '--render-image <reference>': 'a/b:1',
  '--rehearse <provider>': 'process',
  '--rehearse-nodes <n>': '1',
  '--rename': true,
  '--replicas <count>': '1',
  '--render-placement <json>': '{}',
  '--repo <dir>': 'a-folder',
  '--remote <name>': 'origin',
  '--requires <component=range>': 'a=>=1',
  '--reset': true,
  '--retry-failed': true,
  '--roles <list>': 'sync',
  '--roles <roles>': 'sync',
  '--root <dir>': 'a-folder',
  '--secret <name>': 'a-name',
  '--sequence <n>': '1',
  '--shared-identity': true,
  '--show-labels': true,
  '--since <duration>': '10m',
  '--rules <file>': 'a.file',
  '--since <time>': '1h',
  '--show-managed-fields': true,
  '--sign-with <file>': 'a.file',
  '--sort-by <path>': '.metadata.name',
  '--socket <file>': 'a.file',
  '--ssh <file>': 'a.file',
  '--ssh-key <file>': 'a.file',
  '--statement <file>': 'a.file',
  '--statements <dir>': 'a-folder',
  '--tail <count>': '10',
  '--tag <value>': 'a',
  '--tag <key=value>': 'a=b',
  '--take <path[=target]>': 'a=/b',
  '--threshold <n>': '1',
  '--timeout <duration>': '1h',
  '--to <revision>': '1',
  '--token': true,
  '--token-file <file>': 'a.file',
  '--trust <file>': 'a.file',
  '--undo': true,
  '--unit <name>': 'a-name',
  '--unpacked': true,
  '--unprotect': true,
  '--until <time>': '2h',
  '--until-done': true,
  '--what-if <name>': 'zone-loss',
  '--url <url>': 'https://example.org/a',
  '--user <name>': 'a-name',
  '--username <name>': 'git',
  '--values <file>': 'a.file',
  '-w, --watch': true,
  '--wait': true,
  '--weak-cage <policy>': 'allow',
  '--stage <name>': 'prod',
  '--write': true,
  '--webhook-client-ca <file>': 'a.file',
  '--webhook-host <host>': 'a',
  '--webhook-listen <address>': '127.0.0.1',
  '--webhook-port <n>': '1',
  '--webhook-service <name>': 'a-name',
  '-y, --yes': true,
  '--yes <cluster>': 'a',
  '--marker <text>': 'a',
  '--max-chars <number>': ['60000', 'nonsense'],
}

/** Valid arguments of each command; a command with subcommands takes none. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  agent: [],
  'agent bundle': [],
  'agent join': ['a.tgz'],
  'agent leave': [],
  'agent trust': ['trust.json'],
  'agent run': [],
  join: [],
  apiserver: [],
  'apiserver backup': [],
  'apiserver restore': [],
  'apiserver check': [],
  approve: ['release/a'],
  artifact: [],
  'artifact pack': ['a-folder'],
  'artifact sign': ['a.json'],
  'artifact verify': ['a.json'],
  brake: [],
  'brake status': [],
  'brake lift': [],
  'artifact from-deb': ['a.deb'],
  'artifact from-tar': ['a.tar'],
  'artifact from-image': ['a.tar'],
  'artifact keys': [],
  'artifact keys new': [],
  'artifact keys rotate': [],
  'artifact keys trust': [],
  bootstrap: [],
  cluster: [],
  'cluster list': [],
  'cluster show': ['a'],
  'cluster extend': ['a'],
  'cluster kubeconfig': ['a'],
  'cluster recipe': ['a', '1'],
  completion: ['bash'],
  console: [],
  'put-back': ['set/a'],
  'allow-edit': ['set/a'],
  events: ['machine/a', 'node/b'],
  tree: ['machine/a'],
  watch: ['set/a'],
  reconcile: ['source/a'],
  freeze: ['machine/a'],
  thaw: ['machine/a'],
  get: ['machines', 'a', 'b'],
  help: ['rollout', 'status'],
  image: [],
  'image build': [],
  'image push': ['a-layout', 'a/b:1'],
  'image sign': ['a/b:1'],
  'image verify': ['a/b:1'],
  'image load': ['a-layout'],
  init: ['a-folder'],
  describe: ['machine', 'a'],
  why: ['machine/a', 'rack/b'],
  trace: ['machine/a'],
  explain: ['KN1120'],
  inventory: [],
  'inventory export': [],
  monitoring: [],
  'monitoring scrape-config': [],
  report: [],
  'report fleet': [],
  'report pool': ['web'],
  'report component': ['beacon'],
  'report repairs': [],
  'report release': [],
  install: [],
  upgrade: [],
  check: [],
  uninstall: [],
  lint: ['a.yaml', 'b.yaml'],
  local: [],
  'local up': [],
  'local status': [],
  'local prometheus': [],
  'local break': ['hung', 'n-1'],
  logs: ['machine/a', 'beacon'],
  import: ['a', 'b'],
  adopt: ['a'],
  machine: [],
  'machine readmit': ['a'],
  'machine revoke': ['a'],
  'machine join-command': ['a'],
  maintenance: [],
  'maintenance plan': ['machine/a', 'rack/b'],
  'maintenance done': ['a', 'b'],
  'maintenance cancel': ['a'],
  'maintenance list': [],
  preview: [],
  'preview list': [],
  'preview run': ['preview/a', 'true'],
  'preview wait': ['preview/a'],
  plan: [],
  provider: [],
  'provider conformance': [],
  'provider orphans': [],
  'provider serve': [],
  'provider policy': ['aws'],
  release: [],
  'release status': ['a'],
  'release retry': ['a'],
  'release promote': ['a'],
  'release abort': ['a'],
  'release diff': ['a', 'b'],
  'release history': ['a'],
  history: ['cluster/a'],
  diff: ['a..b'],
  'render-job': ['a-folder'],
  pause: ['set/a'],
  resume: ['set/a'],
  rollback: ['a'],
  rollout: [],
  'rollout status': ['a'],
  'rollout history': ['a'],
  'rollout retry': ['a'],
  canary: [],
  'canary status': ['a'],
  'canary promote': ['a'],
  'canary abort': ['a'],
  simulate: [],
  rules: [],
  'rules test': [],
  'rules lint': [],
  'rules coverage': [],
  'rules enforce': ['not-ready'],
  'rules simulate': [],
  'rules backtest': [],
  'rules review': [],
  'rules suggest': [],
  run: [],
  unprotect: ['cluster/a'],
  version: [],
  'why-not': ['node/a'],
  repair: ['node/a'],
}

interface Node {
  readonly path: string
  readonly command: Command
}

const SIGNING_KEY = join(mkdtempSync(join(tmpdir(), 'kubenode-options-')), 'key.pem')
writeFileSync(SIGNING_KEY, generateKey().pem)
afterAll(() => rmSync(dirname(SIGNING_KEY), { recursive: true }))
const KEYS_TRUST = [
  '-f',
  join(dirname(SIGNING_KEY), 'trust.json'),
  '--sign-with',
  SIGNING_KEY,
  '--expires',
  '2099-01-01',
]

const commandsBelow = (command: Command, path: readonly string[] = []): readonly Node[] =>
  command.commands
    .filter((c) => !c.name().startsWith('__'))
    .flatMap((c) => [{ path: [...path, c.name()].join(' '), command: c }, ...commandsBelow(c, [...path, c.name()])])

/** One tree for all command lines that are only parsed: commander forgets the values of a line before it parses the next. */
const program = await buildProgram(io)
const TREE = commandsBelow(program)
const LEAVES = TREE.filter(({ command }) => command.commands.length === 0 || command.options.length > 0)
const PAIRS = LEAVES.flatMap(({ path, command }) => command.options.map((option) => ({ path, option })))

const rowOf = (option: Option): string | true => {
  const row = OPTIONS[option.flags]
  return typeof row === 'object' ? (row[0] ?? '') : (row ?? '')
}
/** The output format differs per command. */
const valueOf = (option: Option): string | true => option.argChoices?.[0] ?? rowOf(option)
const words = (option: Option): readonly string[] => {
  const value = valueOf(option)
  const flag = option.long ?? option.short ?? ''
  return value === true ? [flag] : [flag, value]
}

/** Parses a command line without running it. */
async function read(path: string, argv: readonly string[]): Promise<Record<string, unknown> | undefined> {
  const command = path.split(' ').reduce<Command>((c, w) => c.commands.find((x) => x.name() === w) ?? c, program)
  let options: Record<string, unknown> | undefined
  command.action(() => void (options = command.opts()))
  await program.parseAsync([...path.split(' '), ...argv], { from: 'user' })
  return options
}

const mandatory = (path: string, but?: Option): readonly string[] =>
  (LEAVES.find((n) => n.path === path)?.command.options ?? [])
    .filter((o) => o.mandatory && o.flags !== but?.flags)
    .flatMap(words)

/** Runs a command line without a kubeconfig, in an empty folder. */
async function refused(argv: readonly string[]) {
  let err = ''
  const code = await run(argv, { ...io, cwd: '/nonexistent', err: (t) => void (err += t) })
  return { code, err }
}

test('every command has a row, and no row is of a command that does not exist', () => {
  expect(Object.keys(ARGUMENTS).toSorted()).toEqual(TREE.map((n) => n.path).toSorted())
})

test('every option has a row, and no row is of an option that does not exist', () => {
  const known = new Set(PAIRS.map((p) => p.option.flags))
  expect(Object.keys(OPTIONS).toSorted()).toEqual([...known].toSorted())
})

describe('a command', () => {
  test.each(LEAVES.map((n) => n.path))('%s reads its arguments', async (path) => {
    expect(await read(path, [...(ARGUMENTS[path] ?? []), ...mandatory(path)])).toBeDefined()
  })

  test.each(TREE.map((n) => n.path))('%s refuses what it does not know', async (path) => {
    const { code, err } = await refused([
      ...path.split(' '),
      ...(ARGUMENTS[path] ?? []),
      ...mandatory(path),
      '--no-such-option',
    ])
    expect([code, err]).toEqual([2, expect.stringMatching(/^KN1002: unknown option '--no-such-option'|^Usage: /)])
  })

  const needing = LEAVES.filter((n) => n.command.registeredArguments.some((a) => a.required)).map((n) => n.path)
  test.each(needing)('%s refuses to run without its argument', async (path) => {
    const { code, err } = await refused([...path.split(' '), ...mandatory(path)])
    expect([code, err]).toEqual([2, expect.stringMatching(/^KN1002: missing required argument/)])
  })

  const bounded = LEAVES.filter((n) => !n.command.registeredArguments.some((a) => a.variadic)).map((n) => n.path)
  test.each(bounded)('%s refuses one argument too many', async (path) => {
    const { code, err } = await refused([
      ...path.split(' '),
      ...(ARGUMENTS[path] ?? []),
      'one-more',
      'two-more',
      ...mandatory(path),
    ])
    expect([code, err]).toEqual([2, expect.stringMatching(/^KN1002: too many arguments/)])
  })
})

describe('an option', () => {
  const named = PAIRS.map(({ path, option }) => [path, option.flags, option] as const)

  test.each(named)('%s %s is read', async (path, _flags, option) => {
    const options = await read(path, [...(ARGUMENTS[path] ?? []), ...mandatory(path, option), ...words(option)])
    expect(options?.[option.attributeName()]).toBeDefined()
  })

  // A value where none is allowed, an invalid choice, or a missing value.
  const wrong = named.filter(([, , o]) => !o.optional || o.argChoices !== undefined)
  test.each(wrong)('%s %s is refused when it is used wrongly', async (path, _flags, option) => {
    const flag = option.long ?? ''
    const row = OPTIONS[option.flags]
    const isFlag = !option.required && !option.optional
    const use = isFlag
      ? [`${flag}=x`]
      : option.argChoices !== undefined || typeof row === 'object'
        ? [`${flag}=nonsense`]
        : [flag]
    const { code, err } = await refused([
      ...path.split(' '),
      ...(ARGUMENTS[path] ?? []),
      ...mandatory(path, option),
      ...use,
    ])
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^KN1002: (unknown option|option .* (argument missing|is invalid))/),
    ])
  })

  const lengths = PAIRS.filter(({ option }) => option.flags.includes('<duration>')).map(
    ({ path, option }) => [path, option.long ?? ''] as const,
  )
  test.each(lengths)('%s %s refuses what is no duration before it asks any server', async (path, flag) => {
    const { code, err } = await refused([
      ...path.split(' '),
      ...(ARGUMENTS[path] ?? []),
      ...mandatory(path),
      ...beside(path),
      flag,
      'soon',
    ])
    expect([code, err]).toEqual([2, expect.stringMatching(/^KN(?!1000|1312)\d+: (cannot|not a duration).*soon/)])
  })
})

/** For options with a number, a time or an address: the rest of the line that makes the value be parsed. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'apiserver --health-listen': [],
  'apiserver --most': [],
  'apiserver --planes-per-process': [],
  'apiserver --port': [],
  'artifact keys rotate --expires': ['--new-key', 'a'],
  'artifact keys trust --expires': KEYS_TRUST,
  'artifact keys trust --sequence': KEYS_TRUST,
  'artifact keys trust --threshold': KEYS_TRUST,
  'bootstrap --replicas': ['--git', 'https://git.example.org/a'],
  'check --replicas': [],
  'cluster extend --until': ['--reason', 'x'],
  'console --port': [],
  'history --since': [],
  'history --until': [],
  'install --replicas': [],
  'local prometheus --port': [],
  'local up --nodes': [],
  'logs --tail': [],
  'machine readmit --all-waiting': [],
  'monitoring scrape-config --port': [],
  'maintenance plan --from': ['--until', '2h', '--reason', 'x'],
  'maintenance plan --until': ['--reason', 'x'],
  'plan --max-chars': [],
  'report component --since': [],
  'report fleet --since': [],
  'report pool --since': [],
  'report release --since': [],
  'report repairs --since': [],
  'provider serve --health-listen': ['--providers', 'a', '--socket', 'a', '--name', 'a'],
  'provider serve --listen': ['--providers', 'a', '--cert', 'a', '--key', 'a', '--token-file', 'a'],
  'rules backtest --seeds': [],
  'rules backtest --since': [],
  'rules backtest --until': [],
  'rules review --since': [],
  'rules review --until': [],
  'rules suggest --since': [],
  'rules suggest --until': [],
  'simulate --machines': [],
  'simulate --seeds': [],
  'run --artifacts-listen': ['--roles', 'artifacts', '--artifacts-folder', 'a', '--artifacts-host', 'a'],
  'run --console-listen': ['--roles', 'console', '--console-config', 'a'],
  'run --history-days': ['--roles', 'history', '--history', 'a'],
  'run --health-listen': ['--roles', 'approver'],
  'run --hosted-heap': ['--roles', 'hosted', '--hosted', 'approver'],
  'run --hosted-per-process': ['--roles', 'hosted', '--hosted', 'approver'],
  'run --hooks-listen': ['--roles', 'sync'],
  'run --max-repository': ['--roles', 'sync'],
  'run --metrics-listen': ['--roles', 'approver'],
  'run --metrics-port': ['--roles', 'approver'],
  'run --rehearse-nodes': ['--roles', 'sync'],
  'run --webhook-port': ['--roles', 'approver'],
  'trace --at': [],
  'upgrade --replicas': [],
  'why --at': [],
  'why-not --at': [],
}

const MEASURED = PAIRS.filter(({ option }) => /<(n|count|number|MiB|time|address:port)>/.test(option.flags)).map(
  ({ path, option }) => [path, option.long ?? ''] as const,
)

describe('an option with a number, a time or an address', () => {
  test('has a row, and no row is of an option that does not exist', () => {
    expect(Object.keys(VALUES).toSorted()).toEqual(MEASURED.map((words) => words.join(' ')).toSorted())
  })

  test.each(MEASURED)('%s %s refuses another text, and names it', async (path, flag) => {
    const more = VALUES[`${path} ${flag}`] ?? []
    const { code, err } = await refused([...path.split(' '), ...(ARGUMENTS[path] ?? []), ...more, flag, 'nonsense'])
    expect([code, err]).toEqual([2, expect.stringMatching(/^KN(?!1000|1312)\d+: .*nonsense/)])
  })
})

/** Other options that make the value matter. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  rollback: ['--now', '--reason', 'x'],
  watch: ['--until-done'],
  run: ['--roles', 'approver'],
}
const beside = (path: string): readonly string[] => BESIDE[path] ?? []

/** Options before the command, each used wrongly. */
const PROGRAM_OPTIONS: Readonly<Record<string, string>> = {
  '--color': '--color=sometimes',
  '--quiet': '--quiet=x',
  '--version': '--version=x',
}

describe('options of the program', () => {
  test('have a row each, and no row is of an option that does not exist', async () => {
    const { options } = await buildProgram(io)
    expect(Object.keys(PROGRAM_OPTIONS).toSorted()).toEqual(options.map((o) => o.long ?? '').toSorted())
  })

  test.each([...Object.values(PROGRAM_OPTIONS), '--no-such'])('%s is refused', async (flag) => {
    expect(await refused([flag, 'version'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN1002: /) as string,
    })
  })

  test.each([
    ['--context', 'a', 'get', 'machines'],
    ['--kubeconfig=/x', '-n', 'a', 'release', 'status'],
    ['--color', 'never', '--context', 'a', 'get', 'machines'],
  ])('of the server are read before the command too: %s %s %s %s', async (...argv) => {
    // Parsed; only the kubeconfig is missing.
    expect((await refused(argv)).err).toMatch(argv.includes('-n') ? /^KN1002: unknown option '-n'/ : /^KN13/)
  })
})

test.each([
  [['get', ''], /^KN1002/],
  [['approve', 'x'], /^KN1325: .*"x".*operationpermit\/NAME, release\/NAME or source\/NAME/],
  [['approve', 'nonsense/x'], /^KN1325/],
  [['approve', 'machine/x'], /^KN1325/],
  [['approve', 'pod/x'], /^KN1310: .*kubectl/],
  [
    ['rollback', 'release/a'],
    /^KN1002: .*'release\/a' is invalid.*To undo a release, type git revert COMMIT; to stop one, kubenode release abort/,
  ],
  [['rollout', 'status', 'machine/a'], /^KN1002: .*'machine\/a' is invalid.*Name a set: set\/NAME/],
  [['rollout', 'status', 'machinecomponentset/a'], /^KN1312/],
  [['rollout', 'status', 'kmcs/a'], /^KN1312/],
] as const)('%j is read as far as its kind and name', async (argv, problem) => {
  expect((await refused(argv)).err).toMatch(problem)
})

test.each(['sync', 'controllers', 'kubenode-defender', 'deploy/kubenode-sync'])(
  'the log of our program %s is said to be elsewhere, before any server is asked',
  async (program) => {
    expect(await refused(['logs', program])).toEqual({
      code: 2,
      err: expect.stringMatching(/^KN1325: .*kubectl -n kubenode-system logs deploy\/kubenode-ROLE/) as string,
    })
  },
)

test('logs refuses two components before it asks any server, and takes the same one twice', async () => {
  expect(await refused(['logs', 'machine/a', 'beacon', '-c', 'other'])).toEqual({
    code: 2,
    err: expect.stringMatching(/^KN1002: .* two components: beacon .* other /) as string,
  })
  expect((await refused(['logs', 'machine/a', 'beacon', '-c', 'beacon'])).err).not.toMatch(/KN1002/)
})
