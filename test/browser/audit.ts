// What axe says of a page: light, dark and on a phone.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { isFull } from '#test/support/tools/full.ts'

interface Finding {
  readonly id: string
  readonly nodes: readonly string[]
}

const AUDIT = `axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.map((v) => ({ id: v.id, nodes: v.nodes.map((n) => n.html + ' ' + n.failureSummary) })))`

/** Axe is put into a page without the policy, which would refuse its script. */
export async function findings(page: Page): Promise<readonly Finding[]> {
  await settled(page)
  return page.evaluate<Finding[]>(AUDIT)
}

export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor()
  await page.locator('.bones').waitFor({ state: 'detached' })
  // Fonts, canvas and the first delta.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

export const prepared = (page: Page): Promise<unknown> => page.evaluate(axe.source)

export async function audited(page: Page): Promise<void> {
  await prepared(page)
  expect(await findings(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  // What is large and dark has the colors of what is small and dark.
  if (isFull) expect(await findings(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await findings(page)).toEqual([])
  // On a phone only tables and timelines scroll sideways, never the page.
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
}
