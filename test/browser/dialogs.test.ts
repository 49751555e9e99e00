// The dialogs of the page: what a screen reader gets, axe, and the keyboard alone: in, round, out, and back to where one was.
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { PipelineTopic } from '#console/protocol.ts'
import type { PipelineRow } from '#console/topics.ts'
import { isFull } from '#test/support/tools/full.ts'
import { NOW } from './browser-path.ts'
import { audited, findings, inTurns, prepared } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

type Options = BrowserContextOptions

const DIALOG = 'dialog[open]'
const HOLD = 'Hold: release machines-3f1c9e0a7b5d in hub…'
const APPROVE = 'Approve: release machines-3f1c9e0a7b5d in hub'
const NOTE = {
  name: 'console-4711',
  effect: 'Pause',
  author: 'eve',
  reason: 'a look at the graphs',
  until: NOW + 3_600_000,
}
const APPROVALS = [
  { digest: 'e8a1f3a29b2f1f6f', text: 'deletes 2 objects of prod' },
  { digest: '0b1c2d3e4f5a6b7c', text: 'deletes 1 object of test' },
]

const edited = (edit: Partial<Extract<PipelineRow, { readonly row: 'Release' }>>): void =>
  bench.server.change<PipelineTopic>('pipeline', (t) => ({
    ...t,
    rows: t.rows.map((row) => (row.row === 'Release' ? { ...row, ...edit } : row)),
  }))

async function pipeline(options: Options = {}): Promise<Page> {
  edited({ holds: [NOTE], approvals: APPROVALS })
  const page = await bench.open('#/pipeline', options)
  await page.getByRole('list', { name: 'Holds' }).waitFor()
  return page
}

const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true })

const reason = (page: Page): Locator => page.getByRole('textbox', { name: 'Reason' })

async function opened(name: string, options: Options = {}): Promise<Page> {
  const page = await pipeline(options)
  await button(page, name).press('Enter')
  await page.locator(DIALOG).waitFor()
  await page.locator(`${DIALOG} .bones`).waitFor({ state: 'detached' })
  return page
}

const refuse = (path: string): void =>
  void bench.server.instead.set(path, { status: 403, message: 'User "ada" cannot create operationalholds' })

const STATES: Readonly<Record<string, (options?: Options) => Promise<Page>>> = {
  'dialog-hold': (options) => opened(HOLD, options),
  'dialog-hold-without-reason': async (options) => {
    const page = await opened(HOLD, options)
    await reason(page).press('Enter')
    await page.getByRole('alert').getByText('Give a reason').waitFor()
    return page
  },
  'dialog-hold-refused': async (options) => {
    refuse('/api/hold')
    const page = await opened(HOLD, options)
    await reason(page).fill('a look')
    await reason(page).press('Enter')
    await page.getByRole('alert').getByText('Not created').waitFor()
    return page
  },
  'dialog-hold-created': async (options) => {
    const page = await opened(HOLD, options)
    await reason(page).fill('a look')
    await reason(page).press('Enter')
    await page.getByRole('heading', { name: 'Created' }).waitFor()
    return page
  },
  'dialog-approval': (options) => opened(`${APPROVE}…`, options),
  'dialog-lift': (options) => opened('Lift console-4711', options),
  'dialog-lift-refused': async (options) => {
    refuse('/api/lift')
    const page = await opened('Lift console-4711', options)
    await button(page, 'Lift').press('Enter')
    await page.getByRole('alert').getByText('Not lifted').waitFor()
    return page
  },
}

/** The others have the same parts. */
const AUDITED = ['dialog-hold-refused', 'dialog-hold-created', 'dialog-approval', 'dialog-lift']

test.each(inTurns(STATES))(
  'the state %s is what its snapshot shows, and axe finds nothing in it',
  async (name, open, isDark) => {
    const page = await open()
    await expect(`${await page.locator(DIALOG).ariaSnapshot()}\n`).toMatchFileSnapshot(`snapshots/${name}.yml`)
    expect(bench.errors).toEqual([])
    if (isFull || AUDITED.includes(name)) await audited(page, isDark)
  },
)

test('what axe looks for would be found: a name, an order of headings, a contrast', async () => {
  const page = await bench.open('#/home', { bypassCSP: true })
  await prepared(page)
  // Outside of what the page draws again when an object changes.
  await page.evaluate(`document.body.insertAdjacentHTML('beforeend',
    '<button></button><h6>too deep</h6><p style="color: #999; background: #fff">too faint</p>')`)
  const found = (await findings(page)).map(({ id }) => id)
  expect(found).toEqual(expect.arrayContaining(['button-name', 'heading-order', 'color-contrast']))
})

/** Of the element with the focus. */
const focus = (page: Page, what: string): Promise<string> =>
  page.evaluate<string>(`(() => { const at = document.activeElement; return ${what} ?? '' })()`)
const text = (page: Page): Promise<string> => focus(page, 'at.textContent.trim()')
/** What an element with the focus is described by. */
const description = (page: Page): Promise<string> =>
  focus(page, `document.getElementById(at.getAttribute('aria-describedby'))?.textContent`)

test.each([
  ['Hold…', HOLD, /^$/],
  ['Approve…', `${APPROVE}…`, /^deletes 2 objects of prodsha256:e8a1f3a29b2f1f6f$/],
  ['Lift…', 'Lift console-4711', /^What it holds in hub continues\. It was placed because: a look at the graphs$/],
])(
  'the dialog of %s keeps the focus, has a name and a description, and gives the focus back',
  async (label, name, about) => {
    const page = await opened(name)
    const dialog = page.locator(DIALOG)
    expect(
      await dialog
        .getAttribute('aria-describedby')
        .then((id) => (id === null ? '' : page.locator(`[id="${id}"]`).innerText()))
        .then((t) => t.replaceAll('\n', '')),
    ).toMatch(about)
    expect(
      await page.getByRole(label === 'Lift…' ? 'alertdialog' : 'dialog', { name: name.replace('…', '') }).count(),
    ).toBe(1)
    const stops = new Set<string>()
    for (let press = 0; press < 12; press++) {
      stops.add(
        await focus(
          page,
          `at === document.body ? 'the browser' : at.closest('dialog') === null ? 'outside' : at.textContent`,
        ),
      )
      await page.keyboard.press('Tab')
    }
    expect([...stops]).not.toContain('outside')
    expect([...stops]).toEqual(expect.arrayContaining(['Cancel']))
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await text(page)).toBe(label)
    expect(bench.server.written).toEqual([])
  },
)

test('a field that has to change has the focus, is marked, and is described by the reason', async () => {
  const page = await opened(HOLD)
  await button(page, 'Hold').press('Enter')
  await expect.poll(() => focus(page, 'at.name')).toBe('reason')
  expect(await focus(page, `at.getAttribute('aria-invalid')`)).toBe('true')
  expect(await description(page)).toContain('Give a reason')
  await page.keyboard.type('a look')
  await page.getByLabel('Ends').fill('2020-01-01T00:00')
  await button(page, 'Hold').press('Enter')
  await expect.poll(() => focus(page, 'at.name')).toBe('until')
  expect(await description(page)).toContain('must be a time in the future')
  expect(await reason(page).getAttribute('aria-invalid')).toBeNull()
})

test('what was created is read aloud inside of the dialog, and the focus is there, not lost with the form', async () => {
  const page = await STATES['dialog-hold-created']!()
  await page.locator(DIALOG).getByRole('status').getByText('hold console-4711 created').waitFor({ state: 'attached' })
  expect(await text(page)).toBe('Close')
  await page.keyboard.press('Enter')
  await page.locator(DIALOG).waitFor({ state: 'detached' })
  expect(await text(page)).toBe('Hold…')
})

test('a form that is sent twice in a moment writes once', async () => {
  const page = await opened(HOLD)
  await reason(page).fill('a look')
  await page.evaluate(
    `(() => { const form = document.querySelector('dialog form'); form.requestSubmit(); form.requestSubmit() })()`,
  )
  await page.getByRole('heading', { name: 'Created' }).waitFor()
  expect(bench.server.written).toHaveLength(1)
})

test.each([
  ['the question about it is open', 'dialog'],
  ['its button has the focus', 'button'],
])('a hold that ends while %s leaves the focus at the title of the view', async (_, where) => {
  const page = await opened('Lift console-4711')
  if (where === 'button') {
    await page.keyboard.press('Escape')
    await page.locator(DIALOG).waitFor({ state: 'detached' })
  }
  await expect.poll(() => bench.server.streams).toBe(1)
  edited({ holds: [] })
  await page.getByRole('list', { name: 'Holds' }).waitFor({ state: 'detached' })
  expect(await focus(page, 'at.tagName')).toBe('H1')
})

test('nobody approves what is not shown: not while it is read, and not when it cannot be read', async () => {
  bench.server.instead.set('/api/approving', { status: 409, message: 'release/x no longer asks for this approval' })
  const page = await opened(`${APPROVE}…`)
  await page.getByRole('alert').getByText('Release/x no longer asks for this approval.').waitFor()
  await reason(page).fill('read and agreed')
  await reason(page).press('Enter')
  await page.getByRole('alert').getByText('What this approves is not shown yet.').waitFor()
  expect(bench.server.written).toEqual([])
  bench.server.instead.clear()
  await button(page, 'Read again').press('Enter')
  await page.getByText('1 of 2 approvals missing, from group release-board').waitFor()
  const plan = await page.getByRole('link', { name: 'Read the plan' }).getAttribute('href')
  expect(plan).toMatch(/^#\/plan\/3f1c9e0a7b5d[0-9a-f]{28}$/)
  await page.getByRole('combobox', { name: 'What' }).selectOption('deletes 1 object of test')
  await page.locator(`${DIALOG} .facts`).waitFor()
  await reason(page).press('Enter')
  await page.getByRole('heading', { name: 'Created' }).waitFor()
  expect(bench.server.written).toMatchObject([{ digest: '0b1c2d3e4f5a6b7c' }])
  const read = bench.server.asked.filter((line) => line.startsWith('GET /api/approving?')).at(-1)
  expect(read).toBe(
    'GET /api/approving?cluster=hub&kind=Release&name=machines-3f1c9e0a7b5d&namespace=fleet&digest=0b1c2d3e4f5a6b7c',
  )
})

test('what clusters and approvers write is text in the dialog, and changes no reading direction (S20, S35)', async () => {
  const hostile = '<img src=x onerror="window.hit=1">\u202egpj.exe\u200b'
  const { effects, given = [], asks, risk } = bench.server.approving
  bench.server.approving = {
    ...bench.server.approving,
    effects: effects.map((e) => ({ ...e, text: hostile, on: [hostile, hostile] })),
    waits: [hostile],
    risk: { ...risk, why: [hostile] },
    given: given.map((g) => ({ ...g, by: hostile, reason: hostile })),
    asks: asks.map((a) => ({ ...a, name: hostile, from: hostile })),
    scope: hostile,
  }
  const page = await opened(`${APPROVE}…`)
  const facts = page.locator(`${DIALOG} .facts`)
  const shown = (await facts.textContent()) ?? ''
  expect(shown.split('<img src=x onerror="window.hit=1">')).toHaveLength(16)
  expect(shown).not.toMatch(/[\p{Bidi_Control}\u200b-\u200f]/u)
  expect(await facts.locator('img').count()).toBe(0)
  expect(await page.evaluate('window.hit')).toBeUndefined()
  expect(bench.errors).toEqual([])
})

test('a dialog stays what it was opened for, and shows what became of it, when the view goes on to another release', async () => {
  const page = await opened(`${APPROVE}…`)
  await reason(page).fill('read and agreed')
  await expect.poll(() => bench.server.streams).toBe(1)
  const next = { name: 'machines-4f4f4f4f4f4f', commit: '4'.repeat(40) }
  bench.server.change<PipelineTopic>('pipeline', (t) => ({
    ...t,
    rows: t.rows.map((row) =>
      row.row === 'Release'
        ? { ...row, object: { ...row.object, name: next.name }, commit: next.commit, approvals: [] }
        : row,
    ),
  }))
  await page.getByRole('link', { name: '444444444444', includeHidden: true }).first().waitFor({ state: 'attached' })
  await reason(page).press('Enter')
  await page.getByRole('heading', { name: 'Created' }).waitFor()
  expect(bench.server.written).toMatchObject([
    { of: { name: 'machines-3f1c9e0a7b5d' }, digest: 'e8a1f3a29b2f1f6f', reason: 'read and agreed' },
  ])
  await page.keyboard.press('Enter')
  await page.locator(DIALOG).waitFor({ state: 'detached' })
  expect(await focus(page, 'at.tagName')).toBe('H1')
})
