// What axe says of a page. Each state is asked about once, light and wide or dark and on a phone in turn; ok:full asks about all of them.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { isFull } from '#test/support/tools/full.ts'

interface Finding {
  readonly id: string
  readonly nodes: readonly string[]
}

const AUDIT = `axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => ({ id: v.id, nodes: v.nodes.map((n) => n.html + ' ' + n.failureSummary) })))`

export async function findings(page: Page): Promise<readonly Finding[]> {
  await settled(page)
  return (await evaluated(page, AUDIT)) as readonly Finding[]
}

/** As a debugger does: the policy of the page refuses scripts that it did not bring, and stays as it is. */
async function evaluated(page: Page, expression: string): Promise<unknown> {
  const session = await page.context().newCDPSession(page)
  try {
    const parameters = { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: true }
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', parameters)
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value as unknown
  } finally {
    await session.detach()
  }
}

/** The commands of a view are behind a button. */
export const withCommands = (page: Page): Promise<unknown> =>
  page.evaluate(`document.querySelector('.shell')?.setAttribute('open', '')`)

export async function settled(page: Page): Promise<void> {
  // A new address is followed in a task of its own: without the first frames the view before it would count as settled.
  await frames(page)
  await page.locator('main:not(:has(.bones)) h1').waitFor()
  // Fonts, canvas and the first delta.
  await frames(page)
}

const frames = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

const PHONE = { width: 390, height: 844 }

/** Axe is in the page from then on. */
export const prepared = (page: Page): Promise<unknown> => evaluated(page, `${axe.source}; undefined`)

/** Of a list of states, each with the look that it is audited in: each look has as many parts of the page as the other. */
export const inTurns = <T>(
  states: Readonly<Record<string, T>>,
): readonly (readonly [name: string, state: T, isDark: boolean])[] =>
  Object.entries(states).map(([name, state], at) => [name, state, at % 2 === 1])

/** `isDark`: on a phone. */
export async function audited(page: Page, isDark: boolean): Promise<void> {
  await prepared(page)
  if (isFull || !isDark) expect(await findings(page)).toEqual([])
  if (isFull) {
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await findings(page)).toEqual([])
  }
  await page.emulateMedia({ colorScheme: isFull || isDark ? 'dark' : 'light' })
  await page.setViewportSize(PHONE)
  // On a phone only tables and timelines scroll sideways, never the page.
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
  if (isFull || isDark) expect(await findings(page)).toEqual([])
}
