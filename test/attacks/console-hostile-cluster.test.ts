// One of several clusters whose API server serves objects of any form: the console shows that it cannot read that cluster, and all others as before. (S35)
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { HomeTopic, MachinesTopic, Session } from '#console/protocol.ts'
import { LISTED_KINDS, WATCHED, type WatchedKind } from '#console/server/watched-kinds.ts'
import { KINDS_IN_WORDS } from '#explain/attention/kinds-in-words.ts'
import type { KubeClient, ListOptions } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { changedClient } from '#test/doubles/kube/changed-client.ts'
import { type ConsoleWorld, consoleWorld } from '#test/support/console/console-world.ts'
import { Browser } from '#test/support/console/plain-browser.ts'
import { inFull } from '#test/support/tools/full.ts'

let world: ConsoleWorld

beforeAll(async () => {
  world = await consoleWorld()
  await world.admin.create(machine, newMachine('n-1'))
})
afterAll(() => world.stop())

const newMachine = (name: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
})

/** Lists one more object of this kind, with these fields. */
function hostileClient(kind: WatchedKind, fields: object): KubeClient {
  const real = world.clientAs('system:admin', ['system:masters'])
  const list = async (type: ResourceType, options: ListOptions) => {
    const page = await real.list(type, options)
    if (type.plural !== WATCHED[kind].type.plural) return page
    const metadata = { name: 'x', namespace: 'default', uid: 'u', resourceVersion: '1' }
    const own = { apiVersion: API_GROUP_VERSION, kind: type.kind, metadata, ...fields } as KubeObject
    return { ...page, items: [...page.items, own] }
  }
  return changedClient(real, { list: list as KubeClient['list'] })
}

const FIELDS_OF_OTHERS = { spec: { components: 'x', node: 'x', blames: {}, controlPlane: [] }, status: {} }
const NOTHING = {}
const ONLY_STATUS = {
  spec: {},
  status: { conditions: 'x', stages: {}, components: 1, matching: [null], prunes: [null] },
}
const FORMS: readonly object[] = [
  NOTHING,
  { spec: null, status: null },
  ONLY_STATUS,
  FIELDS_OF_OTHERS,
  { metadata: { name: {}, labels: [], resourceVersion: '1' }, spec: {} },
  { spec: 'x', status: { conditions: [{ type: {}, status: 1 }] } },
]

/**
 * A Node may lack anything, and have more: what it does not report is unknown, and nothing of it is an error. A FleetBrake has no status, and may limit
 * nothing. What has another form is an error.
 */
const LEGAL: Partial<Readonly<Record<WatchedKind, readonly object[]>>> = {
  nodes: [NOTHING, FIELDS_OF_OTHERS],
  brakes: [ONLY_STATUS, FIELDS_OF_OTHERS],
}

const TOPICS = [
  'home',
  'pipeline',
  'clusters',
  'commits',
  ...['machines', 'sets', 'budgets', 'repairs'].map((f) => `${f}/good`),
]

/** Of each kind, so many forms; all of them before a release. In turn, so that every form meets several kinds. */
const FORMS_EACH = inFull(FORMS.length, 2)
const formsOf = (kind: (typeof LISTED_KINDS)[number]) =>
  Array.from({ length: FORMS_EACH }, (_, n) => {
    const form = (LISTED_KINDS.indexOf(kind) * FORMS_EACH + n) % FORMS.length
    return [form, FORMS[form] ?? NOTHING] as const
  })

/** One hostile cluster for each form, all in the same console. */
const hostileName = (form: number): string => `edge-${form}`

test.each(LISTED_KINDS)(
  '%s of any form hide nothing of another cluster, and do not end the console (S35)',
  async (kind) => {
    const forms = formsOf(kind)
    const hostile = forms.map(([form, fields]) => [hostileName(form), hostileClient(kind, fields)] as const)
    const running = await world.console(new Map([['good', world.admin], ...hostile]))
    const browser = new Browser(running.port)
    await browser.open(running.newLink())
    const states = async (): Promise<readonly string[]> =>
      (await browser.json<Session>('/api/session')).clusters.map((c) => c.state)
    await expect.poll(states).toEqual(['good', ...forms].map(() => 'Connected'))
    if (WATCHED[kind].topics.includes('home'))
      for (const [form, fields] of forms) {
        if (LEGAL[kind]?.includes(fields) === true) continue
        await expect
          .poll(async () => (await browser.topic<HomeTopic>('home')).rows.map((r) => r.text).join())
          .toContain(`cluster ${hostileName(form)} is known in part: cannot be read now: ${KINDS_IN_WORDS[kind]}`)
      }
    for (const topic of TOPICS) expect((await browser.ask(`/api/topic/${topic}`)).status, topic).toBe(200)
    expect((await browser.ask('/api/search?q=n-1')).status).toBe(200)
    expect((await browser.topic<MachinesTopic>('machines/good')).names).toEqual(['n-1'])
    await running.stop()
  },
)

test('a list without an end fills no memory, and hides nothing of another cluster (S35)', async () => {
  let pages = 0
  const real = world.clientAs('system:admin', ['system:masters'])
  const { type } = WATCHED.rules
  const fill = { fill: 'x'.repeat(200_000) }
  const list = async (asked: ResourceType, options: ListOptions) => {
    if (asked.plural !== type.plural) return real.list(asked, options)
    pages++
    const items = Array.from({ length: 20 }, (_, n) => ({
      apiVersion: API_GROUP_VERSION,
      kind: type.kind,
      spec: nodeRemedier.example.spec,
      metadata: { name: `x-${pages}-${n}`, uid: `u-${pages}-${n}`, resourceVersion: '1', annotations: fill },
    }))
    return { items: items as unknown as KubeObject[], resourceVersion: '1', continue: String(pages) }
  }
  const endless = changedClient(real, { list: list as KubeClient['list'] })
  const running = await world.console(
    new Map([
      ['good', world.admin],
      ['edge', endless],
    ]),
  )
  const browser = new Browser(running.port)
  await browser.open(running.newLink())
  await expect
    .poll(async () => (await browser.topic<HomeTopic>('home')).rows.map((r) => r.text).join())
    .toContain(`cluster edge is known in part: cannot be read now: ${KINDS_IN_WORDS.rules}`)
  expect((await browser.topic<MachinesTopic>('machines/good')).names).toEqual(['n-1'])
  await running.stop()
})
