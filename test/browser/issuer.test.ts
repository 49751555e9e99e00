// Signing in and out at a certified issuer (oidc-provider) with a real browser: its pages, its redirects, its cookies.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '#console/server/page-files.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import { type CertifiedIssuer, startCertifiedIssuer } from '#test/support/issuer/certified-issuer.ts'
import { useBench } from './browser.ts'

const bench = useBench()
let world: PeopleWorld
let issuer: CertifiedIssuer

beforeAll(async () => {
  ;[world, issuer] = await Promise.all([peopleWorld(), startCertifiedIssuer()])
  await world.allow('group:platform', ['machines'], ['get', 'list', 'watch'])
})
afterAll(async () => {
  await (issuer as CertifiedIssuer | undefined)?.stop()
  await (world as PeopleWorld | undefined)?.stop()
})

test('a person goes from a view to the issuer and back to it, sees what the groups may, and is asked again after signing out (S35)', async () => {
  issuer.groups = ['platform']
  const { port } = await world.atIssuer(issuer, { page: readPage() })
  const origin = `https://127.0.0.1:${port}`
  issuer.register(origin)
  const page = await bench.open('', {
    isStill: false,
    url: `${origin}/#/machines/${CLUSTER}`,
    ignoreHTTPSErrors: true,
  })
  await page.getByRole('link', { name: 'Sign in at' }).click()
  await page.locator('input[name=login]').fill('ada')
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('form[action*="/interaction/"] button[type=submit]').click()
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  expect(page.url()).toBe(`${origin}/#/machines/${CLUSTER}`)
  // No script of the page, and no address, has a token.
  const kept = await page.evaluate<string>(
    'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
  )
  expect(kept).not.toMatch(/eyJ/)
  await page.getByRole('link', { name: 'ada', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('button[name=logout]').first().click()
  await page.getByRole('link', { name: 'Sign in at' }).waitFor()
  expect(new URL(page.url()).origin).toBe(origin)
  expect(bench.errors).toEqual([])
})
