// `npm run pictures`: takes the pictures of docs/operations/console.md from the page itself, with the fleet of the fixtures.
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { homeOf } from '#console/server/views/home.ts'
import { FixtureServer } from '#test/support/console/fixture-server.ts'
import { home } from '#test/support/console/fixtures.ts'
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
await server.start()
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
interface Picture {
  readonly name: string
  readonly hash: string
  readonly viewport: { readonly width: number; readonly height: number }
  readonly colorScheme: 'light' | 'dark'
}

async function take({ name, hash, viewport, colorScheme }: Picture, now = NOW): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', locale: 'en-US' })
  const page = await context.newPage()
  await page.clock.setFixedTime(now)
  await page.goto(`${server.url}/${hash}`)
  await page.locator('main h1').waitFor()
  await page.locator('main:not(:has(.bones)) h1').waitFor()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.screenshot({ path: join(FOLDER, `${name}.png`) })
  await context.close()
}

for (const picture of PICTURES) await take(picture)
for (const { name, seen } of HOME_STATES) {
  server.topics.set('home', { ...home, ...homeOf([clusterWith(seen)], HOME_AT) })
  const picture = { name: `home-${name.replaceAll(' ', '-')}`, hash: '#/home', viewport: STRIP } as const
  await take({ ...picture, colorScheme: 'light' }, HOME_AT)
}
await browser.close()
await server.stop()
