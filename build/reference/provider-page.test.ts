import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseProviders } from '#providers/providers-file.ts'
import { PROVIDERS } from '#providers/registry.ts'
import { expect, test } from 'vitest'
import { PROVIDER_PAGE, providerPage } from './provider-page.ts'
import { PROVIDER_PROTOCOL_PAGE, providerProtocolPage } from './provider-protocol-page.ts'

const page = providerPage()

test(`${PROVIDER_PAGE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(import.meta.dirname, '../..', PROVIDER_PAGE), 'utf8')).toBe(page)
})

test(`${PROVIDER_PROTOCOL_PAGE} is up to date; run npm run gen when it is not`, () => {
  expect(readFileSync(join(import.meta.dirname, '../..', PROVIDER_PROTOCOL_PAGE), 'utf8')).toBe(providerProtocolPage())
})

test('the example can be used as it stands', () => {
  const example = page.split('```yaml\n')[1]?.split('```')[0] ?? ''
  expect(parseProviders('/etc/providers.yaml', example, PROVIDERS).map((p) => p.name)).toEqual(['static', 'process'])
})

test('every provider has a section with all of its options', () => {
  for (const { name, optionsSchema } of PROVIDERS) {
    const section = page.split(`\n## ${name}\n`)[1]?.split('\n## ')[0] ?? ''
    for (const option of Object.keys(optionsSchema.schema.properties ?? {}))
      expect(section).toContain(`\`options.${option}\``)
  }
})
