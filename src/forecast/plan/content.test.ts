import { sha256OfJson } from '#lib/sha256.ts'
import { expect, test } from 'vitest'
import { type RenderedTarget } from '#delivery/desired.ts'
import { differenceOf } from '#sync/difference.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { contentLines } from './content.ts'

const target = (...objects: readonly KubeObject[]): RenderedTarget => ({
  objects: objects.map((object) => ({
    ref: { group: '', kind: object.kind, namespace: 'shop', name: object.metadata.name ?? '' },
    object,
    digest: sha256OfJson(object),
  })),
  rejected: [],
})
const object = (kind: string, name: string, data: object): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'shop' },
  data,
})
const textOf = (before: RenderedTarget, after: RenderedTarget) =>
  differenceOf(new Map([['prod', before]]), new Map([['prod', after]])).flatMap((d) =>
    contentLines(d, before, after).map((l) => l.text),
  )

test('a changed object is YAML with the lines that changed, a removed one is all removed', () => {
  expect(
    textOf(
      target(object('ConfigMap', 'a', { version: '1' }), object('ConfigMap', 'b', {})),
      target(object('ConfigMap', 'a', { version: '2' })),
    ),
  ).toEqual([
    '--- prod/ConfigMap/shop/a',
    '+++ prod/ConfigMap/shop/a',
    '@@ -1,6 +1,6 @@',
    ' apiVersion: v1',
    ' data:',
    '-  version: "1"',
    '+  version: "2"',
    ' kind: ConfigMap',
    ' metadata:',
    '   name: a',
    '--- prod/ConfigMap/shop/b',
    '+++ /dev/null',
    '@@ -1,6 +0,0 @@',
    '-apiVersion: v1',
    '-data: {}',
    '-kind: ConfigMap',
    '-metadata:',
    '-  name: b',
    '-  namespace: shop',
  ])
})

test('no value of a Secret is shown, and that one changed is', () => {
  const lines = textOf(target(object('Secret', 's', { key: 'b2xk' })), target(object('Secret', 's', { key: 'bmV3' })))
  expect(lines.at(-1)).toBe('(values that are not shown differ)')
  expect(lines.join('\n')).not.toMatch(/b2xk|bmV3/)
})
