// Generated files equal what the current kinds generate, and no other files are beside them.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { crdOf } from '#api/crd.ts'
import { GENERATED_DIRECTORIES, generatedFiles } from '#api/gen/generated-files.ts'
import { KINDS } from '#api/kinds.ts'
import { OUTLINE_FILE } from '#build/make-outline.ts'
import { outlineText } from '#build/outlined.ts'
import { COMMAND_PAGE } from '#build/reference/command-page.ts'
import { CONTRACT_PAGES } from '#build/reference/contract-pages.ts'
import { ERROR_PAGE } from '#build/reference/error-page.ts'
import { FIGURES_PAGE } from '#build/reference/figures-page.ts'
import { PROVIDER_PAGE } from '#build/reference/provider-page.ts'
import { PROVIDER_PROTOCOL_PAGE } from '#build/reference/provider-protocol-page.ts'
import { ROOM_PAGE } from '#build/reference/room-page.ts'
import { RULES_PAGE } from '#build/reference/rules-page.ts'

const root = join(import.meta.dirname, '../..')
const files = generatedFiles()

test.each([...files.keys()].map((path) => [path] as const))(
  '%s is up to date; run npm run gen when it is not',
  (path) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(files.get(path))
  },
)

test.each(GENERATED_DIRECTORIES.map((d) => [d] as const))('%s holds nothing else', (directory) => {
  const present = readdirSync(join(root, directory)).map((name) => `${directory}/${name}`)
  expect(
    present.filter(
      (path) =>
        !files.has(path) &&
        ![
          ...CONTRACT_PAGES,
          COMMAND_PAGE,
          ERROR_PAGE,
          FIGURES_PAGE,
          PROVIDER_PAGE,
          PROVIDER_PROTOCOL_PAGE,
          ROOM_PAGE,
          RULES_PAGE,
        ].includes(path),
    ),
  ).toEqual([])
})

test('the outline that this checkout made is that of its commands; run npm run gen when it is not', async () => {
  expect(readFileSync(join(root, OUTLINE_FILE), 'utf8')).toBe(await outlineText())
})

test('the YAML of each CRD reads back as the CRD', () => {
  for (const kind of KINDS) {
    expect(parse(files.get(`deploy/crds/${kind.plural}.yaml`) ?? '')).toEqual(JSON.parse(JSON.stringify(crdOf(kind))))
  }
})
