// The story of the first page at the page of the console, by one person with a keyboard and no pointer, on a fleet as `npm start` makes it: a change on hold and
// on its way, a bad one that stops, the way back, a fault and its repair, an approval. Only commits and the fault come from a terminal.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { blocksIn, Typist } from '#test/support/tools/page.ts'
import { until } from '#test/support/tools/processes.ts'
import { browserPath } from '#test/browser/browser-path.ts'
import { PATIENCE_MS, TestFleet } from './fleet.ts'
import { AtThePage, NO_BROWSER } from './on-the-page.ts'
import { observe, type Observer } from './watching.ts'

const SET = '#/rollouts/test/base'

/** How long a view may take to show what happens in the fleet. */
const SHOWN_WITHIN_MS = 120_000

let fleet: TestFleet | undefined
let watching: Observer | undefined
let at: AtThePage | undefined

beforeAll(async () => {
  if (browserPath() === undefined) return
  fleet = new TestFleet()
  fleet.startOnTerminal('--nodes', '3')
  await fleet.settled()
  watching = observe(fleet.kubeconfig('test'))
}, PATIENCE_MS)
beforeEach((context) => {
  if (fleet === undefined) context.skip(NO_BROWSER)
})
afterAll(async () => {
  await at?.close()
  await watching?.stop()
  await fleet?.dispose()
}, PATIENCE_MS)

test('the story of the first page is done at the page, by keyboard alone', { timeout: 2 * PATIENCE_MS }, async () => {
  if (fleet === undefined || watching === undefined) throw new Error('the fleet was not started')
  const { checkout, repository } = fleet
  const { client } = watching
  const typist = new Typist({ cwd: checkout, scratch: checkout, env: process.env, patienceMs: PATIENCE_MS })
  const there = fleet
  const head = async () => (await there.run('git rev-parse HEAD', repository)).out.slice(0, 12)
  const [bump, bad, back, fault] = blocksIn('docs/start/README.md')
  if (bump === undefined || bad === undefined || back === undefined || fault === undefined)
    throw new Error('docs/start/README.md has fewer blocks')

  // The link that the start printed.
  const link = await until('the link', () => /console \([^)]*\): (http:[\w./:-]+)/.exec(there.said)?.[1], PATIENCE_MS)
  const page = await AtThePage.open(link, SHOWN_WITHIN_MS)
  if (page === undefined) throw new Error(NO_BROWSER)
  at = page
  await page.shows('Nothing needs attention.')
  await page.view('c', 'Clusters')
  await page.shows('3 of 3 connected.')

  // A hold with reason and end: the change that comes next waits for it, and the page tells so everywhere.
  await page.find('base', SET)
  const hold = await page.write('Hold…', 'a look at the graphs first')
  const { spec } = (await client.get(operationalHold, { name: hold })) ?? {}
  expect(spec).toMatchObject({ reason: 'a look at the graphs first', effect: 'Pause', author: 'kubernetes-admin' })
  expect(Date.parse(spec?.until ?? '')).toBeGreaterThan(Date.now())
  const bumped = typist.block('docs/start/README.md', bump)
  await page.shows('Paused', `hold ${hold}: a look at the graphs first`)
  await page.press('Why it waits')
  await page.shows('set/base is Paused', /^Waiting for .*: HoldPause$/)
  await page.view('p', 'Pipeline')
  await page.shows(await head(), 'an earlier stage has not finished')
  // Lifted, it goes through the ladder, and then through both stages.
  await page.find('base', SET)
  await page.lift(hold)
  expect(await client.get(operationalHold, { name: hold })).toBeUndefined()
  await page.shows('beacon 1.1.0', 'Step 1', /^base-beacon-.*-s0-0$/)
  await bumped
  await page.shows('3 of 3 machines up to date, 0 failed, 0 skipped')
  await page.view('p', 'Pipeline')
  await page.shows(await head())
  await expect.poll(() => page.text()).toMatch(/^Pipeline\s+Succeeded/)

  // The bad version stops at the first machine, with the text of its probe.
  await typist.block('docs/start/README.md', bad)
  await page.view('h', /attention/)
  await page.shows(/^set\/base is Blocked: .*ProbeFailed: probe answers: HTTP 503/)
  await page.openRow(SET)
  await page.shows('Blocked', 'beacon 1.2.0', '1 of 1 failed', /ProbeFailed: probe answers: HTTP 503/)
  await page.press('Why it waits')
  await page.shows(/^Blocked for .*: RevisionFailed$/)

  // The way back.
  await typist.block('docs/start/README.md', back)
  await page.view('p', 'Pipeline')
  await page.shows(await head(), /^reverts [0-9a-f]{12} .+$/)
  await page.view('h', 'Nothing needs attention.')

  // The fault and its repair.
  await typist.block('docs/start/README.md', fault)
  await page.find('unwell-scribe', '#/repairs/test/')
  await page.shows('rule unwell-scribe', 'What happened', 'verification', 'Succeeded')

  // A person decides: the permit waits until it is approved at the page.
  await there.run(
    `sed -i "s|^  healthFloor: .*|&\\n  approvals: [{ risk: 'Low', from: ['group:system:masters'], count: 1 }],|" fleet/machines/rules.ts && sed -i 's/"beacon": "1.1.0"/"beacon": "1.0.0"/' fleet/clusters/versions.json && git commit -qam 'a person approves; beacon 1.0.0'`,
    repository,
  )
  await page.find('base', SET)
  await page.shows(/gate Approval: 0 approvals/)
  await page.view('b', /^Budgets of /)
  await page.choose('test')
  await page.shows('0 approvals')
  const name = await page.write('Approve…', 'seen at the page')
  const approved = await client.get(approval, { name })
  expect(approved?.spec).toMatchObject({
    by: 'kubernetes-admin',
    of: { kind: 'OperationPermit' },
    reason: 'seen at the page',
  })
  await page.find('base', SET)
  await page.shows(/^1 of 3 machines up to date/)
  expect(page.errors).toEqual([])
})
