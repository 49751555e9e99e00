import { describe, expect, test } from 'vitest'
import { LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { SECRET_AGE_MS, SecretValues } from './secret-values.ts'

const secretType = coreKind('Secret')
const base64 = (text: string) => Buffer.from(text).toString('base64')
const component = (name: string, key?: string) => ({
  name: 'beacon',
  version: '1.0.0',
  secretRefs: [{ path: 'a.b', secret: { name, ...defined({ key }) } }],
})

function world() {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1) })
  const plant = (name: string, data: Readonly<Record<string, string>>, type = 'Opaque', label = 'true') =>
    fake.plant(secretType, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: SYSTEM_NAMESPACE, name, labels: { [LABELS.forComponents]: label } },
      type,
      data,
    })
  const reader = () => new SecretValues({ client: fake.client({ actor: 'controllers' }), clock })
  return { clock, fake, plant, reader }
}
const sealedIn = async (values: SecretValues, name = 's') => {
  const found = await values.places(component(name, 'k'))
  return found.kind === 'Found' ? found.sealed[0]?.sealedIn : found.why
}

describe('secret values', () => {
  test('have one name for every reader, another one for another value, and the old one when it comes back', async () => {
    const { clock, fake, plant, reader } = world()
    plant('s', { k: base64('one') })
    const [a, b] = [reader(), reader()]
    const first = await sealedIn(a)
    expect(first).toMatch(/^beacon-[0-9a-f]{16}$/)
    expect(await sealedIn(b)).toBe(first)
    fake.poke(secretType, { namespace: SYSTEM_NAMESPACE, name: 's' }, { data: { k: base64('two') } })
    await clock.advance(SECRET_AGE_MS)
    const second = await sealedIn(a)
    expect(second).not.toBe(first)
    expect(await a.valuesAt('beacon', [{ path: 'a.b', sealedIn: first ?? '', secret: { name: 's', key: 'k' } }])).toBe(
      'the values in s have changed',
    )
    fake.poke(secretType, { namespace: SYSTEM_NAMESPACE, name: 's' }, { data: { k: base64('one') } })
    await clock.advance(SECRET_AGE_MS)
    expect(await sealedIn(a)).toBe(first)
  })

  test('have names that cannot be made without the key: another cluster gives others', async () => {
    const names = await Promise.all(
      [1, 2].map(async () => {
        const { plant, reader } = world()
        plant('s', { k: base64('one') })
        return sealedIn(reader())
      }),
    )
    expect(names[0]).not.toBe(names[1])
  })

  test.each([
    ['there is none', 'none', /^Secret kubenode-system\/none not found$/],
    ['it lacks the key', 'empty', /has no key k$/],
    ['it is of another type', 'typed', /only Opaque/],
    ['it is our own', 'kubenode-sealing', /KubeNode's own/],
    ['it is not labeled for components', 'private', /is not for components; label it kubenode.io\/for-components=true/],
    ['it is too large', 'large', /65537 bytes at k, and 65536 are the most/],
  ])('are not to be had when %s', async (_, name, says) => {
    const { plant, reader } = world()
    plant('empty', {})
    plant('private', { k: base64('x') }, 'Opaque', 'false')
    plant('typed', { k: base64('x') }, 'kubernetes.io/tls')
    plant('large', { k: base64('x'.repeat(65_537)) })
    expect(await sealedIn(reader(), name)).toMatch(says)
  })

  test('are read once in a while, however often they are requested', async () => {
    const { plant, fake, reader } = world()
    plant('s', { k: base64('one') })
    const values = reader()
    const before = await sealedIn(values)
    fake.uproot(secretType, { namespace: SYSTEM_NAMESPACE, name: 's' })
    expect(await sealedIn(values)).toBe(before)
  })
})
