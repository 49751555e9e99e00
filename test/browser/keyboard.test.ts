// The story of the README on the page alone, by keyboard alone: a change rolls, a bad one stops, why, a hold with reason and end, a repair.
import { expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import type { HoldRequest, HomeTopic, PipelineTopic, SetTopic } from '#console/protocol.ts'
import type { PipelineRow } from '#console/topics.ts'
import { NOW } from './browser-path.ts'
import { audited } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  await expect
    .poll(async () => {
      await page.keyboard.press('Tab')
      return page.evaluate<string>('document.activeElement?.textContent ?? ""')
    })
    .toContain(name)
}

const focused = (page: Page): Promise<string> => page.evaluate<string>('document.activeElement?.textContent ?? ""')

test('from the first line to a hold, without a pointer', async () => {
  bench.server.session = {
    ...bench.server.session,
    clusters: bench.server.session.clusters.map((c) =>
      c.name === 'prod'
        ? { ...c, holds: ['MachineComponentSet'], canLift: true, topics: [...c.topics, 'repairs', 'budgets'] }
        : c,
    ),
  }
  const page = await bench.open('#/home')
  await heading(page, '2 things need attention, the first: node n-3: ladder of rule kernel-deadlock exhausted (prod)')

  // Where is the commit, and why does it wait?
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await heading(page, 'Pipeline')
  await page.getByText('all clusters have been healthy for 9m of 15m').waitFor()
  // The soak ends, and the next stage starts: the page follows.
  bench.server.change<PipelineTopic>('pipeline', (t) => ({ ...t, rows: t.rows.map((row) => afterSoak(row)) }))
  await page.getByText('1 of 2 healthy').waitFor()

  // The rollout of the bad version: what failed, with the text of the probe.
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await heading(page, 'Rollouts')
  await page.evaluate(`location.hash = '#/rollouts/prod'`)
  await heading(page, 'Rollouts in prod')
  await page.getByRole('region', { name: 'Set base' }).getByRole('link', { name: 'prod' }).waitFor()
  await page.keyboard.press('j')
  expect(await focused(page)).toBe('prod')
  await page.keyboard.press('Enter')
  await heading(page, 'Rollout of base')
  await page.getByText('probe http://127.0.0.1:8080/healthz answered 500').waitFor()
  bench.server.change<SetTopic>('set/prod/base', (t) => ({ ...t, head: { ...t.head, phase: 'Paused', failed: 2 } }))
  await page.getByText('2 failed').waitFor()

  // A hold, with reason and end.
  await tabTo(page, 'Hold…')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.getByRole('textbox', { name: 'Reason' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Give a reason').waitFor()
  await page.keyboard.type('1.2.0 never becomes healthy')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Created' }).waitFor()
  const hold: HoldRequest = {
    cluster: 'prod',
    effect: 'Pause',
    target: { kind: 'MachineComponentSet', name: 'base' },
    reason: '1.2.0 never becomes healthy',
    until: NOW + 4 * 3_600_000,
  }
  expect(bench.server.written).toEqual([hold])
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  // The hold is lifted before its end, after one question.
  const note = { name: 'console-4711', effect: 'Pause', author: 'ada', reason: hold.reason, until: hold.until }
  const held = (holds: SetTopic['head']['holds']) =>
    bench.server.change<SetTopic>('set/prod/base', (t) => ({ ...t, head: { ...t.head, holds } }))
  held([note])
  await page.getByRole('list', { name: 'Holds' }).getByText(hold.reason).waitFor()
  await tabTo(page, 'Lift…')
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog', { name: 'Lift console-4711?' }).waitFor()
  await expect.poll(() => focused(page)).toBe('Cancel')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(bench.server.written).toEqual([hold])
  await expect.poll(() => focused(page)).toBe('Lift…')
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('Cancel')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Lift')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(bench.server.written).toEqual([hold, { cluster: 'prod', name: 'console-4711' }])
  held([])
  await page.getByRole('list', { name: 'Holds' }).waitFor({ state: 'detached' })

  // The repair of a node.
  await page.keyboard.press('g')
  await page.keyboard.press('i')
  await page.evaluate(`location.hash = '#/repairs/prod'`)
  await heading(page, 'Repairs in prod')
  await page.getByRole('link', { name: 'n-3' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await heading(page, 'Repair of n-3')
  await page.getByRole('rowheader', { name: 'reboot' }).waitFor()
  await page.goBack()
  await heading(page, 'Repairs in prod')
  expect(bench.errors).toEqual([])
})

test('a dialog that was closed a moment ago opens again', async () => {
  bench.server.session = {
    ...bench.server.session,
    clusters: bench.server.session.clusters.map((c) => ({ ...c, holds: ['MachineComponentSet'] })),
  }
  const page = await bench.open('#/rollouts/prod/base')
  await heading(page, 'Rollout of base')
  await page.getByRole('button', { name: 'Hold: set base' }).click()
  await page.getByRole('dialog').waitFor()
  // The close event comes only after both; then the page is drawn again.
  await page.evaluate(`new Promise((drawn) => {
    const dialog = document.querySelector('dialog')
    dialog.addEventListener('close', () => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    dialog.close()
    dialog.parentElement.querySelector('button').click()
  })`)
  expect(await page.getByRole('dialog').count()).toBe(1)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

const afterSoak = (row: PipelineRow): PipelineRow =>
  row.row === 'Stage'
    ? row.name === 'test'
      ? { ...row, phase: 'Succeeded' }
      : { ...row, phase: 'Progressing', healthy: 1 }
    : row

test('the heat map is walked with the arrow keys, read aloud, and opened with Enter', async () => {
  const page = await bench.open('#/machines/prod?draw=map')
  await page.getByRole('grid').focus()
  const cell = page.getByRole('gridcell')
  await expect.poll(() => cell.textContent()).toBe('n-1, Ready, rack rack-1, zone zone-a')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await expect
    .poll(() => cell.textContent())
    .toBe('n-3, Repairing, NodeUnwell, repair Running, rack rack-2, zone zone-a')
  expect(page.url()).toContain('on=prod%2Fn-3')
  await page.keyboard.press('Enter')
  await heading(page, 'n-3')
  // The address holds the chosen machine: back shows it again.
  await page.goBack()
  await expect.poll(() => page.getByRole('gridcell').textContent()).toContain('n-3')
})

test('search is one key away, and keys are text while one types', async () => {
  bench.server.hits = {
    hits: [{ cluster: 'prod', kind: 'Machine', name: 'n-3', text: 'Repairing' }],
    isTruncated: false,
  }
  const page = await bench.open('#/home')
  await heading(page, /attention/)
  await page.keyboard.press('/')
  await heading(page, 'Search')
  await page.keyboard.type('gp3')
  await page.getByRole('link', { name: 'n-3' }).waitFor()
  // The double answers each letter alike; the address follows a moment after the last one.
  await expect.poll(() => page.url()).toContain('q=gp3')
  await page
    .getByRole('button', { name: /^Copy: kubenode get .* --context prod \| grep -iF -- gp3$/, includeHidden: true })
    .waitFor({ state: 'attached' })
  await page.keyboard.press('Escape')
  const field = page.getByRole('searchbox')
  expect(await field.inputValue()).toBe('gp3')
  await page.keyboard.press('j')
  // The words that were typed are there to be changed.
  await page.keyboard.press('/')
  expect(await page.evaluate('document.activeElement.selectionEnd - document.activeElement.selectionStart')).toBe(3)
  expect(await field.inputValue()).toBe('gp3')
  expect(page.url()).toContain('q=gp3')
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await heading(page, 'n-3')
  // The typed words are one place to go back to, not one for each pause.
  await page.goBack()
  await heading(page, 'Search')
  await page.goBack()
  await heading(page, /attention/)
})

test('the arrow keys of a choice go from one cluster to the next', async () => {
  const page = await bench.open('#/budgets/hub')
  const choice = page.getByRole('combobox', { name: 'Cluster' })
  await choice.waitFor()
  await choice.press('End')
  const last = await choice.inputValue()
  await heading(page, `Budgets of ${last}`)
  expect(await page.evaluate('document.activeElement.tagName')).toBe('SELECT')
  await choice.press('ArrowUp')
  await expect.poll(() => choice.inputValue()).not.toBe(last)
  expect(await page.evaluate('document.activeElement.tagName')).toBe('SELECT')
})

test('the focus is never lost with the element that had it', async () => {
  const page = await bench.open('#/machines/prod?draw=map')
  await page.getByRole('grid').waitFor()
  const onTitle = () => page.evaluate('document.activeElement === document.querySelector("h1")')
  // A row of a table that becomes a picture.
  await page.keyboard.press('t')
  await page.getByRole('table').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('t')
  await page.getByRole('grid').waitFor()
  await expect.poll(onTitle).toBe(true)
  // A link that is no longer needed.
  await page.getByRole('link', { name: 'zone-a' }).press('Enter')
  await page.getByText('machines: zone-a').waitFor()
  await expect.poll(onTitle).toBe(true)
  await page.getByRole('link', { name: 'Show all' }).press('Enter')
  await expect.poll(onTitle).toBe(true)
  // Escape leaves fields, and takes the focus from nothing else.
  await page.keyboard.press('Escape')
  expect(await onTitle()).toBe(true)
  // A view that is open already.
  await page.getByRole('link', { name: 'Keys' }).focus()
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await expect.poll(onTitle).toBe(true)
})

test('a row that ends under the focus gives it to the next one', async () => {
  bench.server.change<PipelineTopic>('pipeline', (t) => ({ ...t, rows: [] }))
  const page = await bench.open('#/home')
  await heading(page, /attention/)
  await page.keyboard.press('j')
  const [first, second] = await page.locator('[data-row]').allTextContents()
  expect(await focused(page)).toBe(first)
  bench.server.change<HomeTopic>('home', (t) => ({ ...t, rows: t.rows.slice(1) }))
  await expect.poll(() => focused(page)).toBe(second)
  bench.server.change<HomeTopic>('home', (t) => ({ ...t, rows: [] }))
  await expect.poll(() => page.evaluate('document.activeElement === document.querySelector("h1")')).toBe(true)
})

test('the title shows a ring for the keyboard alone, and the commands are behind one button that Escape closes', async () => {
  const page = await bench.open('#/home')
  const ring = () => page.evaluate<string>('getComputedStyle(document.querySelector("h1")).outlineStyle')
  await heading(page, /attention/)
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Pipeline' }).click()
  await heading(page, 'Pipeline')
  await expect.poll(() => page.evaluate('document.activeElement === document.querySelector("h1")')).toBe(true)
  expect(await ring()).toBe('none')
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await heading(page, 'Commits')
  await expect.poll(() => focused(page)).toBe('Commits')
  expect(await ring()).toBe('solid')
  const copy = page.getByRole('button', { name: /^Copy: kubenode release status/ })
  expect(await copy.count()).toBe(0)
  await tabTo(page, 'Terminal')
  await page.keyboard.press('Enter')
  await copy.waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => copy.count()).toBe(0)
  expect(await focused(page)).toBe('Terminal')
})

test('k opens one field for views, actions and objects, and Escape gives the focus back', async () => {
  bench.server.hits = {
    hits: [{ cluster: 'prod', kind: 'Machine', name: 'n-3', text: 'Repairing' }],
    isTruncated: false,
  }
  const page = await bench.open('#/home')
  await heading(page, /attention/)
  await page.keyboard.press('j')
  const row = await focused(page)
  await page.keyboard.press('k')
  await page.getByRole('dialog', { name: 'Go to or do' }).waitFor()
  await audited(page, false)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await focused(page)).toBe(row)
  await page.keyboard.press('k')
  await page.keyboard.type('budg')
  await page.getByRole('option', { name: 'Budgets' }).waitFor()
  await page.keyboard.press('Enter')
  await heading(page, /^Budgets/)
  await page.keyboard.press('k')
  await page.keyboard.type('n-3')
  await page.getByRole('option', { name: /^n-3/ }).waitFor()
  await page.keyboard.press('Enter')
  await heading(page, 'n-3')
  expect(bench.errors).toEqual([])
})

test('the cluster that was chosen stays chosen from view to view', async () => {
  const page = await bench.open('#/rollouts/test')
  await heading(page, 'Rollouts in test')
  await page.keyboard.press('g')
  await page.keyboard.press('b')
  await heading(page, 'Budgets of test')
  await page.keyboard.press('g')
  await page.keyboard.press('h')
  await heading(page, /attention/)
  expect(page.url()).toContain('of=test')
  expect(await page.locator('[data-row]').allTextContents()).toEqual(['scribe 2.0.0 fails its probe on n-7 (HTTP 503)'])
  await page.getByRole('combobox', { name: 'Cluster' }).selectOption('')
  // The latest changes may arrive a moment later.
  const causes = page.locator('section:not([aria-label="Latest changes"]) [data-row]')
  await expect.poll(() => causes.count()).toBe(3)
})

test('a slider of the past is one place to go back to', async () => {
  const page = await bench.open('#/home')
  await heading(page, /attention/)
  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await heading(page, 'The past')
  const slider = page.getByRole('slider', { name: 'From' })
  await slider.press('ArrowRight')
  await slider.press('ArrowRight')
  await expect.poll(() => page.url()).toContain('from=')
  await page.goBack()
  await heading(page, /attention/)
})

test('a table is one key away, and a head sorts it', async () => {
  const page = await bench.open('#/machines/prod?draw=map')
  await page.getByRole('grid').waitFor()
  await page.keyboard.press('t')
  await page.getByRole('table').waitFor()
  await page.getByRole('button', { name: 'Phase' }).press('Enter')
  await expect.poll(() => page.getByRole('rowheader').first().textContent()).toBe('n-4')
  expect(page.url()).toContain('sort=phase')
})

test('a topic that the next view shows too is not read again: its rows would disappear under the focus', async () => {
  const page = await bench.open('#/rollouts')
  await heading(page, 'Rollouts')
  await page.getByRole('region', { name: 'Set base' }).getByRole('link', { name: 'prod' }).waitFor()
  const from = bench.server.asked.length
  await page.evaluate(`location.hash = '#/rollouts/prod'`)
  await heading(page, 'Rollouts in prod')
  // The next view reads its own topic after what this one would have asked for.
  await page.evaluate(`location.hash = '#/rollouts/prod/base'`)
  await heading(page, 'Rollout of base')
  await page.getByText('2 failed').or(page.getByText('answered 500')).first().waitFor()
  expect(bench.server.asked.slice(from).filter((line) => line.includes('/api/topic/sets/'))).toEqual([])
})
