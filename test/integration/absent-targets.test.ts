// Every command that names an object reports a missing one, with a similar name, and writes nothing. Walks all commands, so that a new one is covered too.
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import { maintenanceEvent, PEOPLE } from '#api/kinds/maintenance-event.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { unservedFields } from '#api/unserved.ts'
import { buildProgram, run } from '#cli/program.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { currentPerson } from '#kube/current-person.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { nodeType } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'

const THERE = 'worker-1'
const ABSENT = 'wroker-1'

let server: RunningServer
let admin: KubeClient

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  await installAll(admin)
  await admin.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: THERE } })
  // Only their owners may create these, and no client can create a kind that is not served; no command here names one.
  const owned = [
    operationalHold.kind,
    'Approval',
    'DefenderLedger',
    'FleetBrake',
    'Inventory',
    'LogRequest',
    'MaintenanceEvent',
  ]
  const isRefused = (kind: (typeof KINDS)[number]) =>
    owned.includes(kind.kind) || unservedFields(kind).some(({ path }) => path.length === 1)
  for (const kind of KINDS.filter((k) => !isRefused(k))) {
    const { example } = kind
    const metadata = { name: THERE, ...(kind.namespaced && { namespace: SYSTEM_NAMESPACE }) }
    // A place is there with the first machine in it.
    const spec = kind.kind === 'Machine' ? { ...(example.spec as object), rack: THERE } : example.spec
    await admin.create<KubeObject>(kind, { ...example, apiVersion: API_GROUP_VERSION, kind: kind.kind, metadata, spec })
  }
  // People create those that they planned themselves.
  const { example } = maintenanceEvent
  await admin.create<KubeObject>(maintenanceEvent, {
    ...example,
    apiVersion: API_GROUP_VERSION,
    kind: maintenanceEvent.kind,
    metadata: { name: THERE },
    spec: { ...example.spec, source: PEOPLE, plannedBy: (await currentPerson(admin))?.name },
  })
})
afterAll(() => server?.stop())

async function kubenode(...argv: string[]) {
  let said = ''
  const out = (t: string) => void (said += t)
  const io = { out, err: out, cwd: '/', env: { KUBECONFIG: server.kubeconfig }, isTerminal: false }
  return { code: await run(argv, io), said }
}

/** How each command that asks a server names its object. */
const TARGETS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  logs: [[`machine/${ABSENT}`], [`node/${ABSENT}`, 'beacon']],
  get: [
    ['machine', ABSENT],
    ['sets', ABSENT, '-o', 'yaml'],
    [`node/${ABSENT}`, '-o', 'name'],
    ['release', ABSENT],
  ],
  describe: [[ABSENT], [`machine/${ABSENT}`], ['node', ABSENT], [`cluster/${ABSENT}`]],
  why: [[ABSENT], [`machine/${ABSENT}`], [`set/${ABSENT}`], [`release/${ABSENT}`], [`rack/${ABSENT}`]],
  trace: [[ABSENT], [`machine/${ABSENT}`], ['policy', ABSENT]],
  'why-not': [[`node/${ABSENT}`]],
  freeze: ['machine/', 'node/', 'set/', 'remedier/', 'cluster/', ''].map((of) => [`${of}${ABSENT}`, '--reason', 'x']),
  thaw: [[ABSENT], [`machine/${ABSENT}`]],
  pause: ['set/', 'canary/', 'machine/', 'machineset/', 'remedier/', 'job/', 'source/', 'release/', ''].map((of) => [
    `${of}${ABSENT}`,
    '--reason',
    'x',
  ]),
  resume: [[ABSENT], [`set/${ABSENT}`]],
  repair: [
    ...['node', 'machine', 'remedier'].map((noun) => [`${noun}/${ABSENT}`, '--reason', 'x']),
    [`node/${ABSENT}`, '--reason', 'x', '--unprotect'],
  ],
  rollback: [[ABSENT]],
  'rollout status': [[ABSENT]],
  'rollout history': [[ABSENT]],
  'rollout retry': [[`set/${ABSENT}`, '--reason', 'x']],
  'canary status': [[ABSENT]],
  'canary promote': [[ABSENT]],
  'canary abort': [[`canary/${ABSENT}`, '--reason', 'x']],
  approve: [[`operationpermit/${ABSENT}`], [`permit/${ABSENT}`], [`release/${ABSENT}`], [`source/${ABSENT}`]],
  'release status': [[ABSENT]],
  'release retry': [[`release/${ABSENT}`, '--reason', 'x']],
  'release abort': [[`release/${ABSENT}`, '--reason', 'x']],
  'release promote': [[ABSENT, '--reason', 'x']],
  'release history': [[ABSENT]],
  history: [[`cluster/${ABSENT}`], [`set/${ABSENT}`]],
  'release diff': [[ABSENT]],
  events: [[ABSENT], [`machine/${ABSENT}`]],
  tree: [[ABSENT], [`machine/${ABSENT}`], [`release/${ABSENT}`], ['set', ABSENT]],
  watch: [[ABSENT], [`set/${ABSENT}`], [`release/${ABSENT}`]],
  reconcile: [[ABSENT], [`source/${ABSENT}`]],
  'put-back': [[`set/${ABSENT}`]],
  'allow-edit': [[`set/${ABSENT}`, '--digest', 'x', '--reason', 'x']],
  import: [[ABSENT], [ABSENT, '--undo']],
  adopt: [[ABSENT], [ABSENT, '--dry-run']],
  'machine join-command': [[ABSENT]],
  'cluster show': [[ABSENT], [ABSENT, '-o', 'yaml']],
  unprotect: [[`cluster/${ABSENT}`, '--reason', 'x']],
  'rules enforce': [[ABSENT]],
  'cluster extend': [[ABSENT, '--for', '2h', '--reason', 'x']],
  'cluster kubeconfig': [[ABSENT]],
  'maintenance plan': [[`machine/${ABSENT}`, '--until', '2h', '--reason', 'x']],
  'maintenance done': [[ABSENT]],
  'maintenance cancel': [[ABSENT]],
  'machine readmit': [[ABSENT], [ABSENT, '--token']],
  'machine revoke': [[ABSENT]],
}

/** What `run` takes behind `--` are options of further clusters; a branch that has no preview yet is what is waited for or made; stops of the brake, pools and components are
 * no objects. */
const NO_OBJECT: ReadonlySet<string> = new Set([
  'run',
  'preview wait',
  'preview run',
  'brake lift',
  'report pool',
  'report component',
])

const commandsWithTarget = (command: Command, path: readonly string[] = []): readonly string[] => [
  ...(command.registeredArguments.length > 0 &&
  !NO_OBJECT.has(path.join(' ')) &&
  command.options.some((o) => o.long === '--kubeconfig')
    ? [path.join(' ')]
    : []),
  ...command.commands.flatMap((c) => commandsWithTarget(c, [...path, c.name()])),
]

test('every command that names an object is tried here', async () => {
  const io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
  expect(commandsWithTarget(await buildProgram(io)).toSorted()).toEqual(Object.keys(TARGETS).toSorted())
})

const CASES = Object.entries(TARGETS).flatMap(([path, all]) => all.map((argv) => [path, argv] as const))

describe('an object that is not there', () => {
  test.each(CASES)('is refused with a name that is close: kubenode %s %j', async (path, argv) => {
    const { code, said } = await kubenode(...path.split(' '), ...argv)
    expect([code, said]).toEqual([2, expect.stringMatching(new RegExp(`not find|not found`))])
    expect(said).toMatch(new RegExp(`did you mean (\\w+/)?${THERE}\\?`))
    expect((await admin.list(operationalHold)).items).toEqual([])
  })

  test.each([
    ['pool', 'wokers', 'workers'],
    ['component', 'kubelt', 'kubelet'],
  ])('of a %s that is not there there is no report', async (kind, name, near) => {
    const { code, said } = await kubenode('report', kind, name, '--cluster', 'prod-1')
    expect([code, said]).toEqual([2, expect.stringContaining(`did you mean ${near}?`)])
  })

  test.each([
    ['freeze', [`machine/${ABSENT}`, '--reason', 'x']],
    ['pause', [`set/${ABSENT}`, '--reason', 'x']],
    ['repair', [`node/${ABSENT}`, '--reason', 'x']],
    ['rollout retry', [ABSENT, '--reason', 'x']],
    ['canary abort', [ABSENT, '--reason', 'x']],
    ['thaw', [`machine/${ABSENT}`]],
    ['resume', [`set/${ABSENT}`]],
  ])('is held all the same when a person wants it: kubenode %s --even-if-absent', async (path, argv) => {
    const { code, said } = await kubenode(...path.split(' '), ...argv, '--even-if-absent')
    expect([code, said]).toEqual([0, expect.any(String)])
    for (const hold of (await admin.list(operationalHold)).items)
      await admin.delete(operationalHold, { name: hold.metadata.name ?? '' })
  })
})

describe('an object that is there', () => {
  test.each([
    ['freeze', [`machine/${THERE}`, '--reason', 'x']],
    ['thaw', [`machine/${THERE}`]],
    ['pause', [`set/${THERE}`, '--reason', 'x']],
    ['resume', [`set/${THERE}`]],
    ['canary abort', [THERE, '--reason', 'x']],
    ['repair', [`node/${THERE}`, '--reason', 'x', '--unprotect']],
  ])('is accepted: kubenode %s %j', async (path, argv) => {
    expect(await kubenode(...path.split(' '), ...argv)).toMatchObject({ code: 0 })
  })

  test.each([
    [[`machine/${THERE}`], `machine/${THERE} is unprotected until`],
    [[], 'everything but Clusters is unprotected until'],
  ])('is named as unprotected: %j', async (what, text) => {
    const { code, said } = await kubenode('unprotect', ...what, '--reason', 'x')
    expect([code, said]).toEqual([0, expect.stringContaining(text)])
  })

  test('and of which nothing failed is not retried, and no hold is left', async () => {
    const retries = async () =>
      (await admin.list(operationalHold)).items.filter(({ spec }) => spec.effect === 'Retry').length
    const before = await retries()
    const { code, said } = await kubenode('rollout', 'retry', THERE, '--reason', 'x')
    expect([code, said]).toEqual([2, expect.stringMatching(/^KN1374: nothing to retry: set\/worker-1 is Pending/)])
    expect(await retries()).toBe(before)
    expect((await kubenode('rollout', 'retry', THERE, '--reason', 'x', '--even-if-absent')).code).toBe(0)
  })

  test.each([[`node/${THERE}`], [`remedier/${THERE}`]])(
    'and that no rule finds a fault on is not repaired: %s',
    async (what) => {
      const { code, said } = await kubenode('repair', what, '--reason', 'x')
      expect([code, said]).toEqual([2, expect.stringMatching(/^KN1338: cannot repair .*: no rule is true/)])
      expect((await kubenode('repair', what, '--reason', 'x', '--even-if-absent')).code).toBe(0)
    },
  )
})
