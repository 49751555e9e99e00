// `npm run pictures`: takes the pictures of docs/operations/console.md from the page itself, with the fleet of the fixtures.
// `npm run pictures -- FOLDER`: instead, every view in five states of the fleet, light and dark, at a desk, on a laptop and on a phone;
// `npm run pictures -- FOLDER node-failed desk`: those of them whose name contains each of the words.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { homeOf } from '#console/server/views/home.ts'
import { FixtureServer } from '#test/support/console/fixture-server.ts'
import { home } from '#test/support/console/fixtures.ts'
import { FLEET_STATES } from '#test/support/console/fleet-states.ts'
import { clusterWith, HOME_AT, HOME_STATES } from '#test/support/console/home-states.ts'
import { manyMachines } from '#test/support/console/many-machines.ts'
import { NOW, browserPath } from './browser-path.ts'

const FOLDER = join(import.meta.dirname, '../../docs/pictures/console')
const WIDE = { width: 1100, height: 720 }
const PHONE = { width: 390, height: 720 }
/** The first line and what stands below it. */
const STRIP = { width: 1100, height: 400 }

const PICTURES = [
  { name: 'home', hash: '#/home', viewport: WIDE, colorScheme: 'light' },
  { name: 'health', hash: '#/health/prod', viewport: WIDE, colorScheme: 'light' },
  { name: 'machines', hash: '#/machines/prod', viewport: WIDE, colorScheme: 'light' },
  { name: 'rollout', hash: '#/rollouts/prod/base', viewport: WIDE, colorScheme: 'dark' },
  { name: 'phone', hash: '#/pipeline', viewport: PHONE, colorScheme: 'light' },
] as const

const path = browserPath()
if (path === undefined) throw new Error('no browser: install chromium-headless-shell, or name one in KUBENODE_CHROMIUM')
const server = new FixtureServer()
server.session = { ...server.session, clusters: server.session.clusters.filter(({ state }) => state === 'Connected') }
server.topics.set('machines/prod', manyMachines('prod'))
server.hits = {
  hits: [
    { cluster: 'prod', kind: 'Machine', name: 'n-3', text: 'Repairing' },
    {
      cluster: 'prod',
      kind: 'RemedyOperationJob',
      name: 'kernel-deadlock-4be0643f1d98573b-0',
      called: 'repair of node n-3 by rule kernel-deadlock',
      text: 'Running',
    },
    { cluster: 'hub', kind: 'Release', namespace: 'fleet', name: 'machines-3f1c9e0a7b5d', text: 'Progressing' },
  ],
  isTruncated: false,
}
await server.start()
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
interface Picture {
  readonly name: string
  readonly hash: string
  readonly viewport: { readonly width: number; readonly height: number }
  readonly colorScheme: 'light' | 'dark'
}

interface Taking {
  readonly now?: number
  readonly folder?: string
  readonly isWhole?: boolean
}

async function take(
  { name, hash, viewport, colorScheme }: Picture,
  { now = NOW, folder = FOLDER, isWhole = false }: Taking = {},
): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', locale: 'en-US' })
  const page = await context.newPage()
  await page.clock.setFixedTime(now)
  await page.goto(`${server.url}/${hash}`)
  await page.locator('main h1').waitFor()
  await page.locator('main:not(:has(.bones)) h1').waitFor()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole })
  await context.close()
}

async function takeForDocs(): Promise<void> {
  for (const picture of PICTURES) await take(picture)
  for (const { name, seen } of HOME_STATES) {
    server.topics.set('home', { ...home, ...homeOf([clusterWith(seen)], HOME_AT) })
    const picture = { name: `home-${name.replaceAll(' ', '-')}`, hash: '#/home', viewport: STRIP } as const
    await take({ ...picture, colorScheme: 'light' }, { now: HOME_AT })
  }
}

const EVERY_VIEW: Readonly<Record<string, string>> = {
  home: '#/home',
  pipeline: '#/pipeline',
  machines: '#/machines/prod',
  map: '#/machines/prod?draw=map',
  rollouts: '#/rollouts',
  set: '#/rollouts/prod/base',
  node: '#/node/prod/n-3',
  budgets: '#/budgets/prod',
  repairs: '#/repairs/prod',
  clusters: '#/clusters',
  commits: '#/commits',
  health: '#/health/prod',
  utilization: '#/utilization/prod',
  reliability: '#/reliability/prod',
  maintenance: '#/maintenance/prod',
  life: '#/life/prod/Machine/n-3',
  why: '#/why/prod/MachineComponentSet/base',
  plan: '#/plan/3f1c9e0a7b5d',
  prepare: '#/prepare?change=version&cluster=prod&set=base&component=beacon&from=1.1.0&to=1.2.0',
  past: '#/past?topic=pipeline',
  search: '#/search?q=n',
  account: '#/account',
}
const EVERY_SIZE = { desk: { width: 1600, height: 1000 }, laptop: { width: 1280, height: 800 }, phone: PHONE } as const

/** Some hundred pictures: for the eyes, not for the repository. */
async function takeEvery(folder: string, words: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const { name: state, session, topics } of FLEET_STATES) {
    server.session = session
    for (const [topic, snapshot] of topics) server.topics.set(topic, snapshot)
    for (const [view, hash] of Object.entries(EVERY_VIEW))
      for (const [size, viewport] of Object.entries(EVERY_SIZE))
        for (const colorScheme of ['light', 'dark'] as const) {
          const name = [view, state, size, colorScheme].join('-')
          if (words.every((word) => name.includes(word)))
            await take({ name, hash, viewport, colorScheme }, { folder, isWhole: true })
        }
  }
}

const [folder, ...words] = process.argv.slice(2)
await (folder === undefined ? takeForDocs() : takeEvery(folder, words))
await browser.close()
await server.stop()
