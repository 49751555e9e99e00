// Every view in the words that a screen reader gets, without findings of axe, without a report of the content policy.
import { expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { audited, inTurns, settled, withCommands } from './audit.ts'
import { useBench, WIDE } from './browser.ts'

const bench = useBench({ isShared: true })

const VIEWS: Readonly<Record<string, string>> = {
  home: '#/home',
  pipeline: '#/pipeline',
  'pipeline-table': '#/pipeline?as=table',
  machines: '#/machines/prod',
  'machines-map': '#/machines/prod?draw=map',
  'machines-label': '#/machines/prod?group=label%3Ateam&picked=prod/n-3,prod/n-4',
  'machines-table': '#/machines/prod?as=table',
  'machines-version': '#/machines/prod?color=version&component=beacon&group=rack&only=1.2.0',
  sets: '#/rollouts',
  'sets-table': '#/rollouts/prod?as=table',
  rollout: '#/rollouts/prod/base',
  'rollout-table': '#/rollouts/prod/base?as=table',
  why: '#/why/prod/MachineComponentSet/base',
  'why-table': '#/why/prod/MachineComponentSet/base?as=table',
  budgets: '#/budgets/prod',
  health: '#/health/prod',
  utilization: '#/utilization/prod?since=30d',
  reliability: '#/reliability/prod',
  repairs: '#/repairs/prod',
  repair: '#/repairs/prod/kernel-deadlock-4be0643f1d98573b-0',
  node: '#/node/prod/n-3',
  clusters: '#/clusters',
  maintenance: '#/maintenance/prod',
  commits: '#/commits',
  commit: '#/commits/3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
  plan: '#/plan/3f1c9e0a7b5d',
  'plan-table': '#/plan/3f1c9e0a7b5d?as=table&predict=1',
  prepare: '#/prepare?change=version&cluster=prod&set=base&component=beacon&from=1.1.0&to=1.2.0',
  'prepare-import': '#/prepare?change=import&cluster=prod&nodes=n-1',
  past: '#/past?topic=pipeline',
  'past-home': '#/pipeline?at=1769860000000',
  life: '#/life/prod/Machine/prod-1-worker-0007',
  'life-table': '#/life/prod/Machine/prod-1-worker-0007?as=table',
  search: '#/search',
  keys: '#/keys',
}

let opened: Page | undefined

/** One page goes from view to view, as people do; views that are loaded by their address are in the other files. */
async function viewed(hash: string): Promise<Page> {
  opened ??= await bench.open('#/account')
  await opened.emulateMedia({ colorScheme: 'light' })
  await opened.setViewportSize(WIDE)
  await opened.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await settled(opened)
  return opened
}

test.each(inTurns(VIEWS))(
  'the view %s is what its snapshot shows, and axe finds nothing in it',
  async (name, hash, isDark) => {
    const page = await viewed(hash)
    await withCommands(page)
    await expect(`${await page.locator('main').ariaSnapshot()}\n`).toMatchFileSnapshot(`snapshots/${name}.yml`)
    expect(bench.errors).toEqual([])
    await audited(page, isDark)
  },
)

test('on a phone the name of the current view is in sight', async () => {
  const page = await bench.open('#/commits', { viewport: { width: 390, height: 844 } })
  const name = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Commits' })
  await expect.poll(async () => (await name.boundingBox())?.x).toBeLessThan(390)
})

test('on a phone a timeline is whole, its words can be read, and no flag of a command is broken', async () => {
  const page = await bench.open('#/repairs/prod/kernel-deadlock-4be0643f1d98573b-0', {
    viewport: { width: 390, height: 844 },
  })
  await settled(page)
  await withCommands(page)
  const beyond = `(() => { const e = document.querySelector('.line-field'); return e.scrollWidth - e.clientWidth })()`
  expect(await page.evaluate(beyond)).toBe(0)
  expect((await page.locator('.line-field text').first().boundingBox())?.height).toBeGreaterThan(9)
  const lines = `[...document.querySelectorAll('.terminal code span')].filter((e) => e.textContent.startsWith('--')).map((e) => e.offsetHeight < 30)`
  expect(new Set(await page.evaluate<boolean[]>(lines))).toEqual(new Set([true]))
})
