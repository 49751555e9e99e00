// The browser of these tests: found by variable or path. Where there is none, tests are skipped with the reason.
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { TestContext } from 'vitest'
import { FixtureServer } from '#test/support/console/fixture-server.ts'
import { NOW, browserPath } from './browser-path.ts'

const path = browserPath()

interface Opening extends BrowserContextOptions {
  /** The clock of the browser stays at the moment of the fixtures. */
  readonly isStill?: boolean
  /** Another server than that of the fixtures. */
  readonly url?: string
}

export interface Bench {
  readonly server: FixtureServer
  /** A page in a context of its own; what the page reports as an error is collected. */
  readonly open: (hash: string, options?: Opening) => Promise<Page>
  readonly browser: () => Browser
  /** Errors of scripts and reports of the content policy, of all pages. */
  readonly errors: string[]
}

interface Sharing {
  /** All tests of the file have one server, and the pages that they opened. */
  readonly isShared?: boolean
}

export const WIDE = { width: 1280, height: 860 }

export function useBench({ isShared = false }: Sharing = {}): Bench {
  const errors: string[] = []
  const bench = { server: new FixtureServer(), errors }
  let browser: Browser | undefined
  const begin = async (): Promise<void> => {
    bench.server = new FixtureServer()
    await bench.server.start()
  }
  const end = async (): Promise<void> => {
    for (const context of browser?.contexts() ?? []) await context.close()
    if (path !== undefined) await bench.server.stop()
  }
  beforeAll(async () => {
    if (path === undefined) return
    browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
    if (isShared) await begin()
  })
  afterAll(async () => {
    if (isShared) await end()
    await browser?.close()
  })
  beforeEach(async (context: TestContext) => {
    if (path === undefined)
      context.skip('no browser: install chromium-headless-shell, or name one in KUBENODE_CHROMIUM')
    errors.length = 0
    if (!isShared) await begin()
  })
  afterEach(async () => {
    if (!isShared) await end()
  })
  const current = (): Browser => {
    if (browser === undefined) throw new Error('the browser has not started')
    return browser
  }
  const open = async (hash: string, { isStill = true, url, ...options }: Opening = {}): Promise<Page> => {
    const context = await current().newContext({
      viewport: WIDE,
      timezoneId: 'UTC',
      locale: 'en-US',
      ...options,
    })
    context.on('weberror', (e) => errors.push(e.error().message))
    context.on('console', (m) => /Content Security Policy|TrustedHTML/.test(m.text()) && errors.push(m.text()))
    const page = await context.newPage()
    if (isStill) await page.clock.setFixedTime(NOW)
    await page.goto(url ?? `${bench.server.url}/${hash}`)
    return page
  }
  return {
    ...bench,
    get server() {
      return bench.server
    },
    open,
    browser: current,
  }
}
