// F19, F20, F50, a day of work on hosts: a region announces it, moves it, calls it off, does it, takes hosts back; people plan some of it themselves and are late. The
// controllers that treat hosts run in a process that is killed twice in the middle of drains; the Defender decides, a rollout wants every machine too. Region,
// cluster and programs share one clock, which continues when all of them have done what there was to do.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent, PEOPLE } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { programUser } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { plannedEvent, withVerb } from '#nodes/faults/planned.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { currentPerson } from '#kube/current-person.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { nodeType } from '#nodes/objects.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { permitAnswer, reportResults, requestPermit } from '#permits/permits.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { partsOf } from '#runtime/module.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { History } from './history.ts'
import { Hosts, MINUTE, nameOf, rackOf } from './hosts.ts'
import type { Begin, Pass } from './program.ts'
import { Traffic } from './traffic.ts'

const MACHINES = 9
/** Less than any program gives a call. */
const STEP_MS = MINUTE / 3
const DAY_MS = 225 * MINUTE
const DEAD_MS = 2 * MINUTE
/** In the middle of the first drains, and of those for two events on one host. */
const KILLED_AT = [11, 130] as const
const START_MS = 300_000
const WITHIN_MS = 1_200_000
const ROLLOUT_EVERY_MS = 12 * MINUTE
const ROLLOUT_HOLDS_MS = 4 * MINUTE

/** Without `killedEveryMs` the controllers are killed twice, each time in the middle of drains. */
export function aDay({ killedEveryMs }: { readonly killedEveryMs?: number } = {}): void {
  describe(`a day of work on hosts, controllers killed ${killedEveryMs === undefined ? 'twice' : 'again and again'}`, () => {
    const clock = new VirtualClock(Date.now())
    const begun = clock.now()
    const traffic = new Traffic()
    const clients: HttpKubeClient[] = []
    let server: RunningServer
    let history: History
    let hosts: Hosts
    let child: ChildProcess | undefined
    let lives = 0
    let killed = 0
    const said: string[] = []

    const as = (user?: string): HttpKubeClient => {
      const client = new HttpKubeClient({
        server: server.url,
        ca: { data: server.ca },
        clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
        ...(user !== undefined && { impersonate: { user } }),
      })
      clients.push(client)
      return client
    }

    async function startControllers(): Promise<void> {
      const { url, ca, cert, key } = server
      const made = fork(join(import.meta.dirname, 'program.ts'), {
        execArgv: ['--max-old-space-size=512'],
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      })
      for (const stream of [made.stdout, made.stderr]) stream?.on('data', (text) => said.push(String(text)))
      const now = clock.now()
      made.send({ server: url, ca, cert, key, cloud: hosts.url, now, life: ++lives } satisfies Begin)
      await answered(made)
      child = made
    }

    const answered = (made: ChildProcess): Promise<void> =>
      new Promise((resolve, reject) => {
        const ended = () => reject(new Error(`the controllers ended: ${said.join('').slice(-3_000)}`))
        made.once('exit', ended)
        made.once('message', () => {
          made.off('exit', ended)
          resolve()
        })
      })

    /** SIGKILL, in the middle of whatever it does. */
    async function kill(): Promise<void> {
      const made = child
      child = undefined
      if (made === undefined) return
      const ended = once(made, 'exit')
      // It is in the middle of its work, and not between two turns of the test.
      made.send({ ms: STEP_MS } satisfies Pass)
      made.kill('SIGKILL')
      await ended
      killed++
    }

    async function step(): Promise<void> {
      await clock.advance(STEP_MS)
      if (child !== undefined) {
        const passed = answered(child)
        child.send({ ms: STEP_MS } satisfies Pass)
        await passed
      }
      await hosts.settlePods(history)
      await traffic.quiet()
    }

    async function startDefender(): Promise<void> {
      const client = traffic.client(as(programUser('defender')))
      const own = { client, clock, random: seededRandom(3), log: silentLogger }
      const informers = createInformers({ ...own, startSpreadMs: 0 })
      const running = await defenderModule({ identity: 'day', cluster: 'own' }).setup({
        ...own,
        informers,
        metrics: createMetrics(),
      })
      informers.start()
      await informers.synced()
      for (const part of partsOf(running, { controller: (c) => c })) await part.start(new AbortController().signal)
    }

    /** A rollout wants one machine after the other, and holds for some minutes what it is granted. */
    let turn = 0
    const granted = new Set<string>()
    async function rollout(): Promise<void> {
      const client = traffic.client(as(programUser('controllers')))
      const tools = { client, fieldManager: 'kubenode-componentset' } as const
      const name = nameOf(turn++ % MACHINES)
      const target = await client.get(machineType, { name })
      if (target === undefined) return
      const uid = target.metadata.uid ?? ''
      const permit = `rollout-${turn}`
      await requestPermit(tools, permit, {
        operations: ['SwitchComponent'],
        component: { name: 'beacon', version: '1.0.0' },
        targets: [{ kind: 'Machine', name, uid }],
        requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: permit },
        reason: 'a rollout',
        leaseSeconds: 900,
      })
      clock.after(ROLLOUT_HOLDS_MS, () => void traffic.counted(giveBack(tools, permit, uid)))
    }

    async function giveBack(tools: Parameters<typeof reportResults>[0], name: string, uid: string): Promise<void> {
      const read = await tools.client.get(operationPermit, { name })
      if (read === undefined) return
      const isGranted = permitAnswer(read, uid).kind === 'Granted'
      if (isGranted) granted.add(name)
      await reportResults(tools, read, { [uid]: isGranted ? 'Succeeded' : 'Released' })
    }

    const eventsOf = (eventId: string) => history.all(maintenanceEvent).filter((e) => e.spec.eventId === eventId)
    const phaseOf = (eventId: string) => eventsOf(eventId)[0]?.status?.phase
    const eventOn = (n: number): MaintenanceEvent | undefined =>
      history.all(maintenanceEvent).find((e) => e.spec.machine === nameOf(n) && e.status?.endedAt === undefined)

    /** Of the plan of people. */
    let planned = ''
    const seen: Record<string, unknown> = {}
    const note = (what: string, value: unknown) => void (seen[what] = value)

    const day: readonly (readonly [minute: number, act: () => unknown])[] = [
      [0, () => hosts.announces(0, 'answered', 'SystemMaintenance.Reboot', 130 * MINUTE)],
      [0, () => hosts.announces(3, 'moved', 'SystemMaintenance.Stop', 130 * MINUTE)],
      [0, () => hosts.announces(6, 'cancelled', 'SystemMaintenance.Stop', 130 * MINUTE)],
      [2, () => hosts.reclaims(4)],
      [5, () => note('announced', ['answered', 'moved', 'cancelled'].map(phaseOf))],
      [6, () => note('reclaimed', eventOn(4)?.status?.phase)],
      [8, () => hosts.ends(4)],
      // With a lead of two hours the drains begin at minute 10.
      [22, () => note('drained', ['moved', 'cancelled'].map(phaseOf))],
      [24, () => hosts.hidesFor('cancelled', 1)],
      [27, () => note('missing in one list', phaseOf('cancelled'))],
      [30, () => hosts.moves('moved', 160 * MINUTE)],
      [33, () => note('moved', phaseOf('moved'))],
      [34, () => hosts.forgets('cancelled')],
      [36, plan],
      [40, () => hosts.announces(7, 'retired', 'SystemMaintenance.Delete', 130 * MINUTE)],
      [55, () => note('not approved', phaseOf('retired'))],
      [56, approve],
      [62, () => note('approved', phaseOf('retired'))],
      [66, () => hosts.goes(1, 50 * MINUTE)],
      [100, () => note('late', eventsOf(planned)[0]?.status?.waitingFor?.predicate)],
      [118, done],
      [127, () => hosts.announces(2, 'first', 'SystemMaintenance.Stop', 40 * MINUTE)],
      [127, () => hosts.announces(2, 'second', 'SystemMaintenance.Stop', 60 * MINUTE)],
      [167, () => hosts.begins(2, 'first')],
      [171, () => hosts.ends(7)],
      [189, () => hosts.begins(2, 'second')],
      [190, () => hosts.begins(3, 'moved')],
      [206, () => hosts.goes(5, 12 * MINUTE)],
    ]

    const me = async (): Promise<string> => (await currentPerson(as()))?.name ?? ''

    async function plan(): Promise<void> {
      const target = await hosts.machine(1)
      if (target === undefined) throw new Error('m-1 is gone')
      const [from, until] = [clock.now() + 30 * MINUTE, clock.now() + 60 * MINUTE].map(timestamp)
      const event = plannedEvent(
        target,
        { ...defined({ from }), until: until ?? '' },
        { reason: 'a new fan', by: await me() },
      )
      planned = event.spec.eventId
      await as().create(maintenanceEvent, event as never, { fieldManager: 'kubenode-cli' })
    }

    async function done(): Promise<void> {
      const [event] = eventsOf(planned)
      const now = event === undefined ? undefined : withVerb(event, 'done', await me())
      if (now !== undefined) await as().update(maintenanceEvent, now, { fieldManager: 'kubenode-cli' })
    }

    async function approve(): Promise<void> {
      const name = eventsOf('retired')[0]?.status?.permitRef ?? ''
      const permit = await as().get(operationPermit, { name })
      if (permit === undefined) throw new Error('the retirement asked for no permit')
      const digest = approvalDigest(permit.spec)
      const wish = { reason: 'its data is elsewhere', for: '6h' }
      const person = await currentPerson(as())
      if (person === undefined) throw new Error('the server does not say who we are')
      await as().create(approval, approvalOf({ object: permit, digest }, person, wish, clock.now()))
    }

    beforeAll(async () => {
      console.log(`seed ${testSeed}; run again with KUBENODE_TEST_SEED=${testSeed}`)
      server = await startEmbedded({ clock, loops: 'none' })
      const client = as()
      await installAll(client)
      hosts = new Hosts({ clock, client: traffic.client(client), traffic }, testSeed)
      history = new History(client, () => clock.now())
      await hosts.begin(MACHINES)
      await startDefender()
      await startControllers()
    }, START_MS)

    afterAll(async () => {
      if (child !== undefined) {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }
      await history?.stop()
      for (const client of clients) client.close()
      await hosts?.close()
      await server?.stop()
    })

    test(
      'each event ends as it should: drained once, answered, moved, called off, late, and no repair meanwhile',
      { timeout: WITHIN_MS },
      async () => {
        let [deadUntil, rolledAt] = [0, 0]
        const left = [...day]
        const kills = killedEveryMs === undefined ? KILLED_AT.map((m) => m * MINUTE) : every(killedEveryMs)
        for (let passed = 0; passed < DAY_MS; passed = clock.now() - begun) {
          while ((left[0]?.[0] ?? Infinity) * MINUTE <= passed) await left.shift()?.[1]()
          if (passed >= (kills[0] ?? Infinity)) {
            kills.shift()
            await kill()
            deadUntil = passed + DEAD_MS
          } else if (child === undefined && passed >= deadUntil) await startControllers()
          if (passed - rolledAt >= ROLLOUT_EVERY_MS) {
            rolledAt = passed
            await rollout()
          }
          await step()
        }
        const sourceOf = ({ spec }: MaintenanceEvent) =>
          spec.source === PEOPLE ? 'planned' : spec.eventId.replace(/-i-.*/, '')
        const events = history.all(maintenanceEvent)
        expect(history.violations(rackOf)).toEqual([])
        expect(events.map((e) => `${sourceOf(e)} ${e.status?.phase}`).toSorted()).toEqual([
          'answered Done',
          'cancelled Cancelled',
          'first Done',
          'moved Done',
          'planned Done',
          'reclaim Cancelled',
          'retired Cancelled',
          'second Done',
        ])
        // Every one was drained in time, and no node is left cordoned.
        expect(events.filter((e) => e.status?.missedAt !== undefined).map(sourceOf)).toEqual([])
        expect(history.all(nodeType).filter((n) => (n.spec?.taints ?? []).length > 0)).toEqual([])
        expect(hosts.event('answered').status).toBe('Avoided')
        expect(hosts.restarts.filter((n) => n === 0)).toEqual([0])
        // The one fault without a known cause is repaired: that no other was is no accident.
        expect(history.all(remedyOperationJob).map((j) => j.spec.machine)).toEqual([nameOf(5)])
        expect(granted.size).toBeGreaterThan(3)
        if (killedEveryMs !== undefined) return
        expect(killed).toBe(KILLED_AT.length)
        expect(seen).toEqual({
          announced: ['Announced', 'Announced', 'Announced'],
          reclaimed: 'Prepared',
          drained: ['Prepared', 'Prepared'],
          'missing in one list': 'Prepared',
          moved: 'Announced',
          'not approved': 'Preparing',
          approved: 'Prepared',
          late: 'MaintenanceOverrun',
        })
      },
    )
  })
}

function every(ms: number): number[] {
  return Array.from({ length: Math.floor(DAY_MS / ms) }, (_, n) => (n + 1) * ms)
}
