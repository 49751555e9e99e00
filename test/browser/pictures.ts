// `npm run pictures`: takes the pictures of docs/console.md from the page itself, with the fleet of the fixtures.
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { FixtureServer } from '#test/support/console/fixture-server.ts'
import { manyMachines } from '#test/support/console/many-machines.ts'
import { NOW, browserPath } from './browser-path.ts'

const FOLDER = join(import.meta.dirname, '../../docs/pictures/console')
const WIDE = { width: 1100, height: 720 }
const PHONE = { width: 390, height: 720 }

const PICTURES = [
  { name: 'home', hash: '#/home', viewport: WIDE, colorScheme: 'light' },
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
for (const { name, hash, viewport, colorScheme } of PICTURES) {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: 'UTC', locale: 'en-US' })
  const page = await context.newPage()
  await page.clock.setFixedTime(NOW)
  await page.goto(`${server.url}/${hash}`)
  await page.locator('main h1').waitFor()
  await page.locator('.bones').waitFor({ state: 'detached' })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.screenshot({ path: join(FOLDER, `${name}.png`) })
  await context.close()
}
await browser.close()
await server.stop()
