// What people fill in, click by click: a commit that is prepared, copied and pushed with a token; tokens of clusters; and the way out.
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { GOOD_TOKEN } from '#test/support/console/fixture-server.ts'
import { prepared } from '#test/support/console/plan-fixtures.ts'
import { audited, inTurns, settled } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

type Options = BrowserContextOptions

const GIT_TOKEN = 'glpat-of-ada'

async function draft(options: Options = {}): Promise<Page> {
  const page = await bench.open(
    '#/prepare?change=version&cluster=prod&set=base&component=beacon&from=1.1.0&to=1.2.0',
    options,
  )
  await page.getByLabel('Your name').fill('Ada')
  await page.getByLabel('Your e-mail').fill('ada@example.org')
  await page.getByLabel('Reason').fill('a fix')
  return page
}

async function ready(options: Options = {}): Promise<Page> {
  const page = await draft(options)
  await page.getByRole('button', { name: 'Prepare the commit' }).click()
  await page.getByRole('region', { name: 'Prepared commit' }).waitFor()
  return page
}

async function protection(options: Options = {}): Promise<Page> {
  const page = await bench.open('#/prepare?change=protect&cluster=prod&machines=n-3,n-4', options)
  await page.getByLabel('Your name').fill('Ada')
  await page.getByLabel('Your e-mail').fill('ada@example.org')
  await page.getByLabel('Reason').fill('the rack is moved')
  await page.getByRole('button', { name: 'Prepare the commit' }).click()
  await page.getByRole('region', { name: 'What it means for the machines' }).waitFor()
  return page
}

async function pushed(options: Options = {}): Promise<Page> {
  const page = await ready(options)
  await page.getByLabel('Access token').fill(GIT_TOKEN)
  await page.getByRole('button', { name: 'Push', exact: true }).click()
  return page
}

async function signedOut(options: Options = {}): Promise<Page> {
  bench.server.isSignedOut = true
  bench.server.ways = { ways: ['Oidc', 'Token'], issuer: 'login.example.org' }
  const page = await bench.open('#/pipeline', options)
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
  return page
}

async function withToken(page: Page, label: string, token: string): Promise<Page> {
  const form = page.locator('form').filter({ has: page.getByLabel(label, { exact: true }) })
  await form.getByLabel(label, { exact: true }).fill(token)
  await form.getByRole('button', { name: 'Sign in' }).click()
  return page
}

async function account(options: Options = {}): Promise<Page> {
  const { session } = bench.server
  bench.server.session = {
    ...session,
    person: { name: 'ada@example.org', groups: ['sre', 'oncall'], how: 'Token' },
    expires: Date.parse('2026-01-31T20:00:00Z'),
    clusters: session.clusters.map((c) =>
      c.name === 'edge'
        ? { ...c, state: 'SignedOut' as const, message: 'you have not signed in to this cluster', topics: [] }
        : c,
    ),
  }
  const page = await bench.open('#/home', options)
  // Also on a phone: it is the only way to sign out.
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('link', { name: 'ada@example.org' }).click()
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('heading', { name: 'edge' }).waitFor()
  return page
}

const REFUSED = 'KN1725: the branch got other commits after this one was prepared; prepare it again'

const STATES: Readonly<Record<string, (options?: Options) => Promise<Page>>> = {
  'prepared-commit': ready,
  'prepared-protection': protection,
  'prepared-predicted': async (options) => {
    const page = await ready(options)
    await page.getByRole('button', { name: 'Predict now' }).click()
    await page.getByRole('table', { name: 'Clusters' }).waitFor()
    return page
  },
  'prepared-pushed': async (options) => {
    const page = await pushed(options)
    await page.getByText('Pushed to kubenode/beacon-1.2.0.').waitFor()
    return page
  },
  'prepared-not-pushed': async (options) => {
    bench.server.instead.set('/api/push', { status: 422, message: REFUSED })
    const page = await pushed(options)
    await page.getByRole('alert').waitFor()
    return page
  },
  'prepared-refused': async (options) => {
    bench.server.instead.set('/api/prepare', { status: 422, message: 'KN1384: no line of the fleet sets it' })
    const page = await draft(options)
    await page.getByRole('button', { name: 'Prepare the commit' }).click()
    await page.getByRole('alert').waitFor()
    return page
  },
  'sign-in': signedOut,
  'sign-in-refused': async (options) => {
    const page = await withToken(await signedOut(options), 'Token', 'a-token-of-eve')
    await page.getByRole('alert').waitFor()
    return page
  },
  account,
}

test.each(inTurns(STATES))(
  'the state %s is what its snapshot shows, and axe finds nothing in it',
  async (name, open, isDark) => {
    const page = await open()
    await settled(page)
    await expect(`${await page.locator('main').ariaSnapshot()}\n`).toMatchFileSnapshot(`snapshots/${name}.yml`)
    expect(bench.errors).toEqual([])
    await audited(page, isDark)
  },
)

test('a version bump is prepared from its rollout, shown line by line, copied as a patch, and pushed with a token once', async () => {
  const page = await bench.open('#/rollouts/prod/base', { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByRole('link', { name: 'Change a version' }).click()
  for (const [label, value] of Object.entries({
    Component: 'beacon',
    'Version now': '1.1.0',
    'New version': '1.2.0',
    'Your name': 'Ada',
    'Your e-mail': 'ada@example.org',
    Reason: 'a fix',
  }))
    await page.getByLabel(label, { exact: true }).fill(value)
  await page.getByRole('button', { name: 'Prepare the commit' }).click()
  const lines = page.getByRole('region', { name: 'Lines that change' })
  await lines.getByText('-  "beacon": "1.1.0",').waitFor()
  await lines.getByText('+  "beacon": "1.2.0",').waitFor()
  expect(bench.server.written).toEqual([
    {
      source: expect.objectContaining({ name: 'fleet' }) as unknown,
      change: { kind: 'Version', cluster: 'prod', set: 'base', component: 'beacon', from: '1.1.0', to: '1.2.0' },
      author: 'Ada',
      email: 'ada@example.org',
      reason: 'a fix',
    },
  ])
  await page.getByRole('button', { name: 'Copy: git am' }).click()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(prepared.patch)
  await page.getByLabel('Access token').fill(GIT_TOKEN)
  await page.getByRole('button', { name: 'Push', exact: true }).click()
  await page.getByText('Pushed to kubenode/beacon-1.2.0.').waitFor()
  expect(await page.evaluate(FOCUSED)).toBe('Plan of the commit')
  expect(bench.server.written.slice(1)).toEqual([
    { id: prepared.id, branch: prepared.branch, username: 'git', token: GIT_TOKEN },
  ])
  expect(bench.server.asked.join('\n')).not.toContain(GIT_TOKEN)
  expect(await remembered(page)).not.toContain(GIT_TOKEN)
  await page.getByRole('link', { name: 'Plan of the commit' }).click()
  await page.getByRole('heading', { level: 1, name: 'Plan of 3f1c9e0a7b5d' }).waitFor()
})

test('a push that was refused says why, has forgotten the token, and may be tried again', async () => {
  bench.server.instead.set('/api/push', { status: 422, message: REFUSED })
  const page = await pushed()
  await page.getByRole('alert').getByText('prepare it again').waitFor()
  expect(await page.evaluate(FOCUSED)).toBe('Push')
  const field = page.getByLabel('Access token')
  expect(await field.inputValue()).toBe('')
  expect(await remembered(page)).not.toContain(GIT_TOKEN)
  bench.server.instead.clear()
  await field.fill(GIT_TOKEN)
  await page.getByRole('button', { name: 'Push', exact: true }).click()
  await page.getByRole('link', { name: 'Plan of the commit' }).waitFor()
})

const FOCUSED = 'document.activeElement.textContent'

/** What is left on the page and in the storage of the browser. */
const remembered = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `document.documentElement.outerHTML + JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]) + [...document.querySelectorAll('input')].map((i) => i.value).join()`,
  )

test('a bad token is refused by the API server and the field is empty; a good one shows the view of the address', async () => {
  const page = await withToken(await signedOut(), 'Token', 'a-token-of-eve')
  await page.getByRole('alert').getByText('The API server of hub does not accept this token.').waitFor()
  expect(await page.getByLabel('Token', { exact: true }).inputValue()).toBe('')
  expect(await page.evaluate('document.activeElement.name')).toBe('token')
  await withToken(page, 'Token', GOOD_TOKEN)
  await page.getByRole('heading', { level: 1, name: 'Pipeline' }).waitFor()
  expect(await remembered(page)).not.toContain(GOOD_TOKEN)
  expect(bench.server.asked.join('\n')).not.toContain(GOOD_TOKEN)
})

test('a cluster that needs a token of its own is signed in to in the account view, and its token goes to no other', async () => {
  const page = await withToken(await account(), 'Token for edge', GOOD_TOKEN)
  await page.getByRole('heading', { name: 'edge' }).waitFor({ state: 'detached' })
  await page.getByText('Not signed in to').waitFor({ state: 'detached' })
  expect(bench.server.written).toEqual([{ token: GOOD_TOKEN, cluster: 'edge' }])
})

test('who signs out sees how to sign in, and nothing of the fleet', async () => {
  const page = await account()
  bench.server.ways = { ways: ['Token'] }
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
  expect(await page.getByRole('navigation').count()).toBe(0)
  expect(await page.locator('body').innerText()).not.toContain('ada@example.org')
})
