import { expect, test } from 'vitest'
import { messageOf } from '#lib/errors.ts'
import type { JsonObject } from '#lib/json.ts'
import { newSealingKey, seal } from '#api/sealed.ts'
import { sealedKey, sealedObjectName } from '#api/sealed-names.ts'
import { withSecrets } from './secrets.ts'

const key = newSealingKey()
const values: JsonObject = { registry: { mirrors: ['m'], user: 'u' }, root: '/r' }
const path = 'registry.password'

const deps = (data: Readonly<Record<string, string>> | undefined) => ({
  machine: 'm-1',
  privateKey: async () => key.privateKey,
  client: {
    get: async (_type: unknown, { name }: { readonly name: string }) =>
      name === sealedObjectName('containerd-1a', 'm-1') && data !== undefined
        ? { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }
        : undefined,
  } as never,
})
const sealed = (component = 'containerd') => ({
  [sealedKey(path)]: seal(key.publicKey, { machine: 'm-1', component, path }, 'S3cret'),
})
const secrets = [{ path, sealedIn: 'containerd-1a' }]

test('a secret value appears where it belongs, in a copy', async () => {
  expect(await withSecrets(deps(sealed()), 'containerd', values, secrets)).toEqual({
    registry: { mirrors: ['m'], user: 'u', password: 'S3cret' },
    root: '/r',
  })
  expect(JSON.stringify(values)).not.toContain('S3cret')
})

test.each([
  ['there is no object for this machine', undefined, /kubenode-system\/containerd-1a.* has no value for this machine/],
  ['the object lacks the value', {}, /has no value for this machine/],
  ['it was sealed for another component', sealed('kubelet'), /belongs to another machine, component or path/],
])('S16 when %s it is said where to look, and nothing of the value', async (_what, data, says) => {
  const message = await withSecrets(deps(data), 'containerd', values, secrets).catch(messageOf)
  expect(message).toMatch(says)
  expect(message).not.toContain('S3cret')
})

test('a path with odd names adds a value and nothing else', async () => {
  const odd = '__proto__.polluted'
  const data = { [sealedKey(odd)]: seal(key.publicKey, { machine: 'm-1', component: 'containerd', path: odd }, 'x') }
  await withSecrets(deps(data), 'containerd', {}, [{ path: odd, sealedIn: 'containerd-1a' }])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})
