// A page that was loaded before its server was updated: fields, rows, topics and events that it does not know change nothing that it shows.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HomeTopic, Session, Snapshot } from '#console/protocol.ts'
import { snapshots } from '#test/support/console/fixtures.ts'
import { leastOf, withOtherWords } from '#test/support/console/message-edits.ts'
import { settled, withCommands } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

/** By the name of their snapshot. */
const VIEWS: Readonly<Record<string, string>> = {
  home: '#/home',
  pipeline: '#/pipeline',
  'pipeline-table': '#/pipeline?as=table',
  machines: '#/machines/prod',
  'machines-table': '#/machines/prod?as=table',
  sets: '#/rollouts',
  rollout: '#/rollouts/prod/base',
  'rollout-table': '#/rollouts/prod/base?as=table',
  why: '#/why/prod/MachineComponentSet/base',
  budgets: '#/budgets/prod',
  repairs: '#/repairs/prod',
  repair: '#/repairs/prod/kernel-deadlock-4be0643f1d98573b-0',
  node: '#/node/prod/n-3',
  clusters: '#/clusters',
  maintenance: '#/maintenance/prod',
  commits: '#/commits',
}

const UNKNOWN = 'text-of-a-newer-server'

/** Each object has one field more; a map of counts has no fields. */
function extended(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(extended)
  if (typeof value !== 'object' || value === null) return value
  if (Object.values(value).every((v) => typeof v === 'number')) return value
  const known = Object.fromEntries(Object.entries(value).map(([key, v]) => [key, extended(v)]))
  return { ...known, ofNewer: { text: UNKNOWN, list: [UNKNOWN] } }
}

/** Of topics whose rows say what they are, one row more. */
function newer(snapshot: Snapshot): Snapshot {
  const more = extended(snapshot) as Snapshot
  if (!('rows' in more)) return more
  const saysKind = more.rows.some((row) => 'row' in row)
  const rows = saysKind ? [...more.rows, { id: UNKNOWN, row: 'Newer', text: UNKNOWN }] : more.rows
  return { ...more, rows } as Snapshot
}

test('what a newer server sends beside what this page knows changes no view', async () => {
  const { server } = bench
  for (const s of snapshots) server.topics.set(s.topic, newer(s))
  server.why = extended(server.why) as typeof server.why
  const session = extended(server.session) as Session
  server.session = {
    ...session,
    clusters: session.clusters.map((c) => ({ ...c, topics: [...c.topics, 'weather' as never] })),
  }
  const page = await bench.open('#/home')
  for (const [name, hash] of Object.entries(VIEWS)) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    const shown = readFileSync(join(import.meta.dirname, `snapshots/${name}.yml`), 'utf8')
    await expect
      .poll(async () => {
        await settled(page)
        await withCommands(page)
        return `${await page.locator('main').ariaSnapshot()}\n`
      })
      .toBe(shown)
    expect(await page.locator('body').innerText(), name).not.toContain(UNKNOWN)
  }
  // An event and a topic without a meaning pass by, and the change after them arrives.
  await page.evaluate(`location.hash = '#/home'`)
  await expect.poll(() => server.followers('home')).toBe(1)
  server.sendRaw('event: weather\ndata: {"revision":1}\n\n')
  server.sendRaw(': remark\nevent: weather\ndata: not JSON\n\n')
  server.change<HomeTopic>('home', (t) => ({ ...t, head: { ...t.head, sentence: 'All is well.' } }))
  await page.getByRole('heading', { name: 'All is well.', level: 1 }).waitFor()
  expect(bench.errors).toEqual([])
})

test.each([
  ['nothing but what the types demand', leastOf],
  ['words that this page does not know', withOtherWords],
])('every view is drawn of %s', async (_, edited) => {
  const { server } = bench
  for (const s of snapshots) server.topics.set(s.topic, edited(s))
  const page = await bench.open('#/home')
  for (const [name, hash] of Object.entries(VIEWS)) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await settled(page)
    expect(await page.locator('main').innerText(), name).not.toMatch(/undefined|NaN|Invalid Date|\[object/)
    expect(bench.errors, name).toEqual([])
  }
})
