// The whole way with real processes and real git: a commit becomes versions on nodes, a bad one stops at the first machine, a fault is repaired,
// and none of it minds that any process is killed in the middle. S31: started with umask 000 in a folder that was open to all, it leaves nothing open.
import { X509Certificate } from 'node:crypto'
import { appendFileSync, chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { programUser } from '#api/names.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { messageOf } from '#lib/errors.ts'
import { seededRandom } from '#lib/random.ts'
import { isRecording, note, recordedTable, usedAt } from '#test/support/rights/record.ts'
import { creditOf, flat } from '#test/support/rights/shipped-rights.ts'
import { UNUSED } from '#test/repo/unused-rights.ts'
import { Typist, blocksIn, type Block } from '#test/support/tools/page.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { type Found, sleep, until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from './fleet.ts'
import { openTo, pathsIn } from './open-paths.ts'
import { typeSituation } from './pages.ts'
import { observe } from './watching.ts'
import type { Observer } from './watching.ts'

const NODES = 3
/** Commands that only read are typed again until they show what the page prints. */
const PAGE_WITHIN_MS = 240_000
const seed = testSeed

let fleet: TestFleet
const observers = new Map<string, Observer>()
const observer = (cluster: string): Observer => {
  const found = observers.get(cluster)
  if (found === undefined) throw new Error(`no observer for ${cluster}`)
  return found
}
const versionsOf = (cluster: string, component: string): string[] =>
  observer(cluster)
    .machines()
    .map((m) => m.status?.components?.find((c) => c.name === component)?.version ?? 'none')

/** A new version that dies before its probes have passed is a failure of the version, whatever killed it; the journal says so before it starts. */
function isOnProbation({ command }: Found): boolean {
  const [, node, component] = /^\S+ (\S+)\/root\/opt\/.*\/(\w+)\.(?:mjs|sh)/.exec(command) ?? []
  if (node === undefined || component === undefined) return false
  const record = JSON.parse(readFileSync(join(node, 'state/components', component, 'record.json'), 'utf8')) as object
  return 'open' in record
}

/** What a plan predicts from. */
async function exported(cluster: string): Promise<string> {
  const file = join(fleet.checkout, `${cluster}-inventory.json`)
  const { code, out } = await fleet.run(
    `bin/kubenode inventory export --kubeconfig ${fleet.kubeconfig(cluster)} > ${file}`,
  )
  expect(`${code} ${out}`).toMatch(/^0 /)
  return file
}

interface Promised {
  readonly predicted: {
    readonly clusters: readonly {
      readonly cluster: string
      readonly slices: readonly {
        readonly step: number
        readonly number: number
        readonly machines: readonly string[]
      }[]
    }[]
  }
}

/** The plan of the last commit, from before it was applied, names the slices that came of it, machine by machine. */
async function keepsPromise(inventories: readonly string[], folder: string): Promise<void> {
  const from = inventories.map((f) => `--inventory ${f}`).join(' ')
  const { code, out } = await fleet.run(
    `${fleet.checkout}/bin/kubenode plan --quiet ${from} -o json > plan.json`,
    folder,
  )
  expect(`${code} ${out}`).toMatch(/^0 /)
  const { predicted } = JSON.parse(readFileSync(join(folder, 'plan.json'), 'utf8')) as Promised
  expect(predicted.clusters.map((c) => c.cluster)).toEqual(['test', 'prod'])
  for (const { cluster, slices } of predicted.clusters) {
    const permits = (await observer(cluster).client.list(operationPermit)).items
    const outcome = permits
      .filter((p) => p.spec.component?.version === '1.1.0')
      .map((p) => [
        /-s(\d+)-(\d+)$/
          .exec(p.metadata.name ?? '')
          ?.slice(1)
          .map(Number),
        p.spec.targets.map((t) => t.name),
      ])
    expect(slices.map((s) => [[s.step, s.number], s.machines])).toEqual(
      outcome.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    )
    const set = await observer(cluster).client.get(machineComponentSet, { name: 'base' })
    expect(set?.status?.durations?.find((d) => d.component === 'beacon')?.seconds.length).toBe(NODES)
  }
}

beforeAll(async () => {
  console.log(`seed ${seed}; run again with KUBENODE_TEST_SEED=${seed}`)
  fleet = new TestFleet()
  mkdirSync(fleet.data)
  chmodSync(fleet.data, 0o777)
  fleet.startWithUmask('000', '--nodes', String(NODES), '--record-rights')
  await fleet.settled()
  for (const cluster of ['test', 'prod']) observers.set(cluster, observe(fleet.kubeconfig(cluster)))
  await until(
    'both clusters are seen',
    () => ['test', 'prod'].every((c) => observer(c).machines().length === NODES) || undefined,
    30_000,
  )
}, PATIENCE_MS)

afterAll(async () => {
  for (const o of observers.values()) await o.stop()
  await fleet.dispose()
})

describe('the whole way', () => {
  chapters()
  test('machines join with identities of their own and run what git says', () => {
    for (const cluster of ['test', 'prod']) {
      expect(versionsOf(cluster, 'beacon')).toEqual(Array.from({ length: NODES }, () => '1.0.0'))
      expect(versionsOf(cluster, 'scribe')).toEqual(Array.from({ length: NODES }, () => '1.0.0'))
    }
    const agents = fleet.processes('agent-main.')
    expect(agents.length).toBe(2 * NODES)
  })

  test('an agent shows the log of a component, and its own, to the one who asks', async () => {
    const name = observer('test').machines()[0]?.metadata.name ?? ''
    const logs = (what: string) =>
      fleet.run(`bin/kubenode logs machine/${name} ${what} --kubeconfig ${fleet.kubeconfig('test')}`)
    expect(await logs('beacon')).toMatchObject({ code: 0, out: expect.stringContaining('beacon 1.0.0 listens on') })
    expect(await logs('--tail 500')).toMatchObject({ code: 0, out: expect.stringContaining('log requested') })
    expect(await logs('beacom')).toMatchObject({ code: 2, out: expect.stringContaining('did you mean beacon?') })
    await until(
      'no request is left',
      () =>
        !observer('test')
          .machines()
          .some((m) => m.spec.logs?.length),
      30_000,
    )
  })

  test('S31 with umask 000 in a folder that was open to all it leaves nothing open', () => {
    const seen = [...pathsIn(fleet.data)].map((path) => relative(fleet.data, path))
    for (const file of [
      'lock',
      'fleet.json',
      'logs/apiservers.log',
      'hub/apiserver/objects.db',
      'hub/apiserver/objects.db-wal',
      'hub/apiserver/objects.db-shm',
      'hub/apiserver/pki/ca.key',
      'hub/apiserver/admin.kubeconfig',
      'hub/sync.kubeconfig',
      'test/controllers.kubeconfig',
      'repository/.git/config',
    ])
      expect(seen).toContain(file)
    expect(seen.some((path) => /^test\/nodes\/[^/]+$/.test(path))).toBe(true)
    expect(openTo(fleet.data)).toEqual([])
  })

  test('the story of the first page runs as it is printed', { timeout: PATIENCE_MS }, async () => {
    const [bump, bad, back, fault, ...more] = blocksIn('docs/start/README.md')
    expect(more).toEqual([])
    const { checkout } = fleet
    const typist = new Typist({ cwd: checkout, scratch: checkout, env: process.env, patienceMs: PATIENCE_MS })
    const type = async (block: Block | undefined) => {
      if (block === undefined) throw new Error('docs/start/README.md has fewer blocks')
      return typist.block('docs/start/README.md', block)
    }
    const inventories = await Promise.all(['test', 'prod'].map(exported))
    await type(bump)
    expect(versionsOf('prod', 'beacon')).toEqual(Array.from({ length: NODES }, () => '1.1.0'))
    await keepsPromise(inventories, fleet.repository)

    const why = await type(bad)
    expect(why).toContain('is Blocked')
    // The first machine tried it and was reverted; no other machine, and no later stage, ever ran it.
    expect(versionsOf('test', 'beacon')).toEqual(Array.from({ length: NODES }, () => '1.1.0'))
    expect([...observer('prod').versionsSeen('beacon')].sort()).toEqual(['1.0.0', '1.1.0'])
    await typeSituation(fleet, 'A rollout stands', PAGE_WITHIN_MS)

    await type(back)
    expect(versionsOf('test', 'beacon')).toEqual(Array.from({ length: NODES }, () => '1.1.0'))

    await type(fault)
    const jobs = await observer('test').client.list(remedyOperationJob)
    const ended = jobs.items.filter((j) => j.status?.outcome === 'Succeeded')
    expect(ended.length).toBeGreaterThanOrEqual(1)
    expect(ended[0]?.status?.permitRef).toBeDefined()
  })

  test(
    'a fault drawn from the seed becomes a condition, a job under a permit, and is seen to be gone',
    { timeout: PATIENCE_MS },
    async () => {
      const random = seededRandom(seed + 1)
      const watching = observer('test')
      const { client } = watching
      const jobs = (await client.list(remedyOperationJob)).items
      const known = new Set(jobs.map((j) => j.metadata.name))
      // Within the cooldown of the story's repair the agent's own restart of a killed component is all that is needed.
      const repaired = new Set(jobs.map((j) => j.spec.node.name))
      const names = watching.machines().map((m) => m.metadata.name ?? '')
      const node = random.pick(names.filter((name) => !repaired.has(name)))
      const component = random.pick(['beacon', 'scribe'])
      const fault = random.pick(['killed', 'frozen', 'line'] as const)
      console.log(`fault: ${component} on ${node}: ${fault}`)
      const [running] = fleet.processes(`/test/nodes/${node}/`, `bin/${component}.`)
      if (running === undefined) throw new Error(`${component} does not run on ${node}`)
      if (fault === 'line')
        appendFileSync(
          join(fleet.data, 'test/nodes', node, 'root/var/log/messages'),
          `${component}: error, cannot go on\n`,
        )
      else process.kill(running.pid, fault === 'killed' ? 'SIGKILL' : 'SIGSTOP')

      const job = await until(
        'a job is done',
        async () => {
          const { items } = await client.list(remedyOperationJob)
          return items.find(
            (j) => !known.has(j.metadata.name) && j.spec.node.name === node && j.status?.phase === 'Done',
          )
        },
        120_000,
      )
      // A component that was only killed is started again by its agent; then the job finds nothing left to do.
      expect(fault === 'killed' ? ['Succeeded', 'Superseded'] : ['Succeeded']).toContain(job.status?.outcome)
      if (job.status?.outcome === 'Succeeded') {
        const permit = await client.get(operationPermit, { name: job.status.permitRef ?? '' })
        expect(permit?.spec.targets[0]?.name).toBe(node)
        expect(permit?.status?.granted).toBe(1)
      }
      await fleet.settled()
      expect(fleet.processes(`/test/nodes/${node}/`, `bin/${component}.`).length).toBe(1)
    },
  )

  test('every kind of process may be killed during a rollout', { timeout: PATIENCE_MS }, async () => {
    const random = seededRandom(seed)
    const kinds: readonly (readonly [string, readonly string[]])[] = [
      ['sync, controllers and Defenders', ['run --roles sync,defender', '/programs.json']],
      ['approvers', ['run --follow', '/approvers.json']],
      ['API servers', ['apiserver --data', '/hub/apiserver']],
      ['agent', ['agent-main.', '/test/nodes/']],
      ['component', ['/test/nodes/', '/root/opt/']],
    ]
    fleet.setVersion('beacon', '1.0.0')
    const order = kinds.map((k) => ({ k, at: random.next() })).sort((x, y) => x.at - y.at)
    for (const {
      k: [name, parts],
    } of order) {
      await sleep(random.below(1_500))
      const found = fleet.processes(...parts).filter((p) => !isOnProbation(p))
      expect(found.length, `a ${name} runs`).toBeGreaterThan(0)
      process.kill(random.pick(found).pid, 'SIGKILL')
    }
    await fleet.settled()
    for (const cluster of ['test', 'prod']) {
      await until(
        `${cluster} is at 1.0.0`,
        () => versionsOf(cluster, 'beacon').every((v) => v === '1.0.0') || undefined,
        60_000,
      )
    }
  })

  test('no budget was exceeded at any time', () => {
    // Three machines: the careful policy lets one of them be disrupted at a time.
    for (const cluster of ['test', 'prod']) expect(observer(cluster).mostSwitching(), cluster).toBeLessThanOrEqual(1)
  })

  test('an object that only its meaning makes wrong is refused by the Defender', async () => {
    const broken = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'NodeRemedier',
      metadata: { name: 'broken' },
      spec: {
        when: { all: [{ fact: 'conditionz', path: '/Ready/status', operator: 'equal', value: 'False' }] },
        ladder: [{ operations: [{ cordon: {} }] }],
      },
    }
    // The Defender was killed a moment ago; while it is away the server lets such an object pass, and the controller refuses it.
    const refusal = await until(
      'the Defender refuses it',
      async () => {
        const { client } = observer('test')
        const said = await client.create(nodeRemedier, broken as never, { dryRun: true }).then(
          () => undefined,
          (e: unknown) => messageOf(e),
        )
        return said?.includes('KN4') === true ? said : undefined
      },
      60_000,
    )
    expect(refusal).toMatch(/KN4005: .*conditionz/)
  })

  test('a second start in the same folder is refused with a number', async () => {
    const { code, out } = await fleet.run('bin/kubenode local up')
    expect(code).toBe(2)
    expect(out).toMatch(/KN1201: a local fleet is already running in .* \(pid \d+\)/)
  })

  test('a commit that cannot be rendered changes nothing and says why', { timeout: PATIENCE_MS }, async () => {
    await fleet.run(`echo 'nonsense(' >> fleet/main.ts && git commit -qam broken`, fleet.repository)
    const out = await until(
      'the error is shown',
      async () => {
        const seen = (await fleet.run('bin/kubenode local status || true')).out
        return /KN7\d\d\d/.test(seen) ? seen : undefined
      },
      60_000,
    )
    expect(out).toContain('main.ts')
    expect(versionsOf('test', 'beacon')).toEqual(Array.from({ length: NODES }, () => '1.0.0'))
    await fleet.run('git revert --no-edit HEAD', fleet.repository)
    await fleet.settled()
  })

  test(
    'an interrupt ends every process, and the next start goes on; S31 what was opened meanwhile it closes, and says so',
    { timeout: PATIENCE_MS },
    async () => {
      expect(await fleet.end('SIGINT')).toBe(130)
      expect(fleet.processes()).toEqual([])
      const opened = ['hub/apiserver', 'hub/apiserver/objects.db']
      for (const path of ['', ...opened]) chmodSync(join(fleet.data, path), 0o777)
      const said = fleet.said.length
      fleet.startWithUmask('000')
      await fleet.settled()
      // People's own commits in the fleet's repository are open to read by their umask, and are closed with the rest.
      const [, closed] =
        /removed other users' access to (\d+) files and folders in (\S+)/.exec(fleet.said.slice(said)) ?? []
      expect(Number(closed)).toBeGreaterThanOrEqual(opened.length + 1)
      expect(
        openTo(fleet.data).filter((line) => opened.some((path) => line.endsWith(` ${path}`)) || line.endsWith(' ')),
      ).toEqual([])
      await until('agents run again', () => fleet.processes('agent-main.').length === 2 * NODES || undefined, 60_000)
    },
  )

  test('every program has the account of its role, and none has the key of the administrator', () => {
    const programs = fleet.processes('run ', '--follow')
    expect(programs.length).toBe(2)
    expect(fleet.processes('run ', 'admin.kubeconfig')).toEqual([])
    // Those of the hub are in the command, those of other clusters in the file that it follows.
    const followed = programs.flatMap(({ command }) => {
      const [, file = ''] = /--follow (\S+)/.exec(command) ?? []
      return (JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly string[])[]).map((options) =>
        options.join(' '),
      )
    })
    expect(followed.length).toBe(4)
    const ofHub = programs.map(({ command }) => command).filter((command) => command.includes('--roles'))
    expect(ofHub.length).toBe(1)
    const clusters = [...ofHub, ...followed]
    const accounts = clusters.flatMap((command) => {
      const roles = /--roles (\S+)/.exec(command)?.[1]?.split(',') ?? []
      const files = [...command.matchAll(/--kubeconfig (\w+)=(\S+)/g)].map(([, role = '', path = '']) => {
        const { config } = parseSafeKubeconfig(readFileSync(path, 'utf8'), path)
        const cert = config.clientCertificate?.cert
        const subject = cert !== undefined && 'data' in cert ? new X509Certificate(cert.data).subject : 'none'
        return { role, subject }
      })
      expect(files.map((f) => f.role)).toEqual(roles)
      return files
    })
    expect(accounts.filter(({ role, subject }) => subject !== `CN=${programUser(role)}`)).toEqual([])
  })

  test('programs and agents used shipped rights only, and each is in one of the tables of rights', () => {
    const used = ['hub', 'test', 'prod'].flatMap((name) => usedAt(join(fleet.data, name, 'apiserver')))
    for (const line of used) note(JSON.stringify(line))
    const credits = used.map(creditOf)
    expect(credits.flatMap((c) => (c.kind === 'Foreign' ? [c.text] : []))).toEqual([])
    const shipped = credits.flatMap((c) => (c.kind === 'Shipped' ? [c] : []))
    const identities = ['agents', 'approver', 'bootstrappers', 'controllers', 'defender', 'sync']
    expect([...new Set(shipped.map((c) => c.identity))].sort()).toEqual(expect.arrayContaining(identities))
    // Not while the table is being recorded.
    if (isRecording) return
    const known = new Set(flat(recordedTable()))
    // What is rarely needed is needed in a slow run: an event that repeats, a Machine that is read once more.
    const isRare = (right: string) => UNUSED.some((one) => one.right.test(right))
    const all = [...new Set(shipped.map((c) => `${c.identity}: ${c.text}`))]
    const news = all.filter((right) => !known.has(right) && !isRare(right))
    expect(news, 'record them: npm run rights test/e2e/whole-way/whole-way.test.ts').toEqual([])
  })
})
