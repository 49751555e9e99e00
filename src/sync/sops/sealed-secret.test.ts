// sops files with age: real ones, tampered ones, and that no message contains a value.
import fc from 'fast-check'
import { expect, describe, test } from 'vitest'
import {
  AGE_KEY,
  AGE_PUBLIC_KEY,
  AGE_RECIPIENT,
  DATA_REGEX,
  ageFile,
  sopsObject,
  sopsText,
} from '#test/support/tools/sops-writer.ts'
import { openAgeFile, parseIdentities } from './age.ts'
import { isPlace, openSecret, PLACES_ENTRY, sealedSecret } from './sealed-secret.ts'

const identities = await parseIdentities(`# created: 2026-11-22\n${AGE_KEY}\n`)
const SECRET_VALUE = 'hunter2-hunter2'
const DOCUMENT = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', namespace: 'shop', labels: { app: 'db' } },
  type: 'Opaque',
  data: { user: Buffer.from('root').toString('base64') },
  stringData: { password: SECRET_VALUE, empty: '' },
}

const problemOf = async (
  text: string,
  open: (text: string) => unknown = (t) => openSecret(t, identities),
): Promise<string> => {
  try {
    await open(text)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'opened'
}

interface SopsFile {
  kind: string
  type: string
  metadata: Record<string, unknown>
  data: Record<string, string> & { user: string }
  stringData: Record<string, string> & { password: string }
  sops: Record<string, unknown> & { mac: string; lastmodified: string; age: [{ recipient: string; enc: string }] }
}

type Change = (file: SopsFile) => unknown
const changed = (change: Change, document: typeof DOCUMENT = DOCUMENT): string => {
  const file = sopsObject(document) as unknown as SopsFile
  change(file)
  return JSON.stringify(file)
}

describe('age', () => {
  /** `printf 0123456789abcdef0123456789abcdef | age -r RECIPIENT -a`, version 1.1.1 from Debian; the second one has another recipient first. */
  const REAL = [
    `-----BEGIN AGE ENCRYPTED FILE-----
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSB6QXdrYVVyR1ZPaXh5NGVY
NkJua0JMTG5aWGpleFFFZGZQTXd1WHJQVEh3CitNVDB3WEUxc0hDNm9kRFl1a1dT
R2JhR0Fvakd1SFEyNTM2QUJ4TUJ3UTgKLS0tIHZCNVNLa20xekFmWFF5bncwNk1S
QXBkVG5SYitXWkNJYXU3V29XZWZhMDQKrlHsUIFCI2NpH+45g3M6M1430Mq0Y9aF
MtcC5D9Z28+7a7fspHkaOiIjNd5yPTxPIDeOLRSitg2EcZfoci31dQ==
-----END AGE ENCRYPTED FILE-----
`,
    `-----BEGIN AGE ENCRYPTED FILE-----
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSByMjZrTzU5aVFnYkhzNVFX
ZEhxa0FBS1RTaGN3aXlKQit0eVRteEtrbXp3CjExNEFkVTVtWHBhUDlEYXEySHcx
NndIN3N6WElXZ1RMZmVUalFLSzJxbVUKLT4gWDI1NTE5IG9CaTNiemdTT2x3aEho
SS9ha3B4TG4vbGZBWk1ZeVZLaUtDM3l3TmRlQW8KcGJJOGxZSk5mYk5IWXlUT0p3
emxwMytYYVYyYVNLNU9VeFhHQUFlc045awotLS0gRUNPdXZPc0dESlIrS3lzanVm
S2JqRjdRZjNjSHNTN3E5QzBTYmRhNUFaRQp6yiLAyq+jLmHFEFxnSPeIPWaZzt/4
5dklJiv0y38sfEMSSc9pzjQOtDvJ5na5QEE/XhedAJo4tlx5D3gZ1ZNX
-----END AGE ENCRYPTED FILE-----
`,
  ]

  test('a key of age-keygen opens what the age program encrypted', async () => {
    expect(identities.map((i) => i.recipient)).toEqual([AGE_RECIPIENT])
    for (const file of REAL)
      expect((await openAgeFile(file, identities))?.toString()).toBe('0123456789abcdef0123456789abcdef')
  })

  test('every changed byte of a file is noticed', async () => {
    const lines = (REAL[0] ?? '').trim().split('\n')
    const bytes = Buffer.from(lines.slice(1, -1).join(''), 'base64')
    for (let at = 0; at < bytes.length; at++) {
      const bad = Buffer.from(bytes)
      bad[at] = (bad[at] ?? 0) ^ 1
      const armored = [lines[0], bad.toString('base64'), lines.at(-1)].join('\n')
      let key: Buffer | undefined
      try {
        key = await openAgeFile(armored, identities)
      } catch {
        continue
      }
      expect(key, `byte ${at}`).toBeUndefined()
    }
  })

  test('another key opens nothing, and a share of low order is refused', async () => {
    const other = ageFile(Buffer.from('x'), AGE_PUBLIC_KEY)
    expect(await openAgeFile(other, [])).toBeUndefined()
    const zeros = Buffer.from(other.split('\n').slice(1, -2).join(''), 'base64').toString('latin1')
    const low = zeros.replace(/X25519 \S+/, `X25519 ${'A'.repeat(43)}`)
    const armored = `-----BEGIN AGE ENCRYPTED FILE-----\n${Buffer.from(low, 'latin1').toString('base64')}\n-----END AGE ENCRYPTED FILE-----`
    await expect(openAgeFile(armored, identities)).rejects.toThrow()
  })

  test('S12 a file for more recipients than anybody has is refused before a curve is computed', async () => {
    const one = ageFile(Buffer.from('x'), AGE_PUBLIC_KEY).split('\n').slice(1, -2).join('')
    const [version, ...lines] = Buffer.from(one, 'base64').toString('latin1').split('\n')
    const flood = [version, ...Array.from({ length: 32 }, () => lines.slice(0, 2)).flat(), ...lines].join('\n')
    const armored = (
      Buffer.from(flood, 'latin1')
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    ).join('\n')
    const file = `-----BEGIN AGE ENCRYPTED FILE-----\n${armored}\n-----END AGE ENCRYPTED FILE-----\n`
    await expect(openAgeFile(file, identities)).rejects.toThrow('has 33 recipients (limit 32)')
  })

  test.each([
    '',
    'AGE-SECRET-KEY-1',
    AGE_KEY.toLowerCase(),
    `${AGE_KEY.slice(0, -1)}Q`,
    `${AGE_KEY}Q`,
    'AGE-PLUGIN-YUBIKEY-1QQQQ',
    AGE_RECIPIENT,
  ])('a line that is no key is refused without being repeated: %s', async (line) => {
    if (line === '') return expect(await parseIdentities(line)).toEqual([])
    await expect(parseIdentities(line)).rejects.toThrow(
      /^has a line that is no X25519 key of age \(AGE-SECRET-KEY-1…\)$/,
    )
    return undefined
  })

  test('whatever is in the place of an age file ends in an error or in nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.boolean(), async (bytes, isHeaded) => {
        const body = Buffer.concat([Buffer.from(isHeaded ? 'age-encryption.org/v1\n-> X25519 ' : ''), bytes]).toString(
          'base64',
        )
        const text = `-----BEGIN AGE ENCRYPTED FILE-----\n${body}\n-----END AGE ENCRYPTED FILE-----`
        expect(await problemOf(text, (t) => openAgeFile(t, identities))).not.toBe('')
      }),
    )
  })
})

describe('a Secret', () => {
  test('opens to what was encrypted, as a server stores it', async () => {
    const { object: opened } = await openSecret(sopsText(DOCUMENT), identities)
    expect(opened).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: DOCUMENT.metadata,
      type: 'Opaque',
      data: {
        user: Buffer.from('root').toString('base64'),
        password: Buffer.from(SECRET_VALUE).toString('base64'),
        empty: '',
      },
    })
  })

  test('shows its name without a key, and no value', () => {
    const sealed = sealedSecret(sopsText(DOCUMENT))
    expect(sealed.metadata).toEqual(DOCUMENT.metadata)
    expect(sealed['sops']).toBeUndefined()
    expect(JSON.stringify(sealed)).not.toContain(SECRET_VALUE)
  })

  test.each([
    ['the default rule', { metadata: { name_unencrypted: 'x' } }, {}],
    ['a suffix of readable keys', {}, { unencrypted_suffix: '_open' }],
    ['a suffix of encrypted keys', {}, { encrypted_suffix: 'ata' }],
    ['an expression of readable keys', {}, { unencrypted_regex: '^(apiVersion|kind|metadata|type)$' }],
  ])('is decrypted by %s of sops', async (_, more, rules) => {
    const ends = rules as Record<string, string>
    const isEncrypted = (path: readonly string[]): boolean =>
      ends['encrypted_suffix'] !== undefined
        ? path.some((k) => k.endsWith('ata'))
        : ends['unencrypted_regex'] !== undefined
          ? !path.some((k) => ['apiVersion', 'kind', 'metadata', 'type'].includes(k))
          : !path.some((k) => k.endsWith(ends['unencrypted_suffix'] ?? '_unencrypted'))
    const document = { ...DOCUMENT, ...more, metadata: { ...DOCUMENT.metadata } }
    const { object: opened } = await openSecret(sopsText(document, { rules, isEncrypted }), identities)
    expect(opened['data']).toMatchObject({ password: Buffer.from(SECRET_VALUE).toString('base64') })
  })

  test('a MAC over encrypted values alone leaves name and namespace open: only with an entry for its places', async () => {
    expect(await problemOf(sopsText(DOCUMENT, { macOnlyEncrypted: true }))).toMatch(
      /has its name and namespace outside of its MAC \(mac_only_encrypted\).*kubenode\.for/,
    )
    const placed = { ...DOCUMENT, stringData: { ...DOCUMENT.stringData, [PLACES_ENTRY]: 'prod/shop/db' } }
    expect((await openSecret(sopsText(placed, { macOnlyEncrypted: true }), identities)).places).toEqual([
      'prod/shop/db',
    ])
    const flipped = sopsObject(DOCUMENT, { macOnlyEncrypted: true }) as unknown as SopsFile
    Reflect.deleteProperty(flipped.sops, 'mac_only_encrypted')
    expect(await problemOf(JSON.stringify(flipped))).toContain('does not match its MAC')
    expect(await problemOf(changed((f) => void (f.sops.mac_only_encrypted = true)))).toContain('does not match its MAC')
  })

  const OTHER = sopsObject({ ...DOCUMENT, stringData: { password: 'another' } }) as unknown as SopsFile
  const ATTACKS: readonly (readonly [string, Change, RegExp])[] = [
    [
      'its MAC is changed',
      (f) => (f.sops.mac = f.sops.mac.replace(/data:(.)/, (_, first) => `data:${first === 'A' ? 'B' : 'A'}`)),
      /does not match its MAC/,
    ],
    ['its MAC is that of another file', (f) => (f.sops.mac = OTHER.sops.mac), /does not match its MAC/],
    ['its MAC is missing', (f) => Reflect.deleteProperty(f.sops, 'mac'), /has no MAC/],
    ['its time is changed', (f) => (f.sops.lastmodified = '2026-11-23T07:00:00Z'), /does not match its MAC/],
    [
      'a value is moved to another key',
      (f) => (f.stringData = { other: f.stringData.password, empty: '' } as never),
      /stringData\.other that was changed or moved/,
    ],
    [
      'two values are swapped',
      (f) => ([f.data.user, f.stringData.password] = [f.stringData.password, f.data.user]),
      /changed or moved/,
    ],
    [
      'a value of another file is put in its place',
      (f) => (f.stringData.password = OTHER.stringData.password),
      /changed or moved/,
    ],
    ['a value is removed', (f) => Reflect.deleteProperty(f.data, 'user'), /does not match its MAC/],
    ['a value is emptied', (f) => (f.stringData.password = ''), /does not match its MAC/],
    [
      'a readable value is added where values are encrypted',
      (f) => (f.stringData.more = 'plain'),
      /stringData\.more that is not encrypted/,
    ],
    [
      'an empty value is put over an encrypted one, which changes no byte of its MAC',
      (f) => (f.stringData.user = ''),
      /has user in data and in stringData/,
    ],
    ['it is renamed', (f) => (f.metadata.name = 'mine'), /does not match its MAC/],
    ['it is moved to a namespace of the attacker', (f) => (f.metadata.namespace = 'mine'), /does not match its MAC/],
    [
      'it gets an annotation by which another program copies it',
      (f) => (f.metadata.annotations = { copy: 'mine' }),
      /does not match its MAC/,
    ],
    ['its type is changed', (f) => (f.type = 'kubernetes.io/tls'), /does not match its MAC/],
    ['its rule is narrowed', (f) => (f.sops.encrypted_regex = '^data$'), /rules leave readable|does not match its MAC/],
    [
      'a bit of a value is changed',
      (f) =>
        (f.stringData.password = f.stringData.password.replace(
          /data:(.)/,
          (_: string, c: string) => `data:${c === 'A' ? 'B' : 'A'}`,
        )),
      /changed or moved/,
    ],
    [
      'a tag is cut',
      (f) => (f.stringData.password = f.stringData.password.replace(/tag:[^,]+/, 'tag:AAAA')),
      /changed or moved/,
    ],
    [
      'it is encrypted for another service',
      (f) => {
        f.sops.pgp = [{ fp: 'x' }]
        f.sops.age = [] as never
      },
      /is encrypted for pgp; KubeNode opens files for age/,
    ],
    ['it has key groups', (f) => (f.sops.key_groups = [{}]), /key groups/],
    ['it is not encrypted', (f) => Reflect.deleteProperty(f, 'sops'), /is not encrypted by sops/],
    ['it is no Secret', (f) => (f.kind = 'ConfigMap'), /is no Secret of v1|does not match its MAC/],
    ['it has two rules', (f) => (f.sops.encrypted_suffix = 'x'), /of which sops takes one/],
  ]
  test.each(ATTACKS)('stays closed when %s', async (_, change, expected) => {
    const text = changed(change)
    const message = await problemOf(text)
    expect(message).toMatch(expected)
    expect(message).not.toContain(SECRET_VALUE)
  })

  test('stays closed for another key, and names both recipients', async () => {
    const other = await parseIdentities('AGE-SECRET-KEY-1920V5QL54DPPA3E3XDE9D2FF7873DXF2THNJXAN6PJTU6YK86WQQDMY29R')
    expect(await problemOf(sopsText(DOCUMENT), (t) => openSecret(t, []))).toBe(
      `is encrypted for ${AGE_RECIPIENT}, and the key is for none`,
    )
    expect(await problemOf(sopsText(DOCUMENT), (t) => openSecret(t, other))).toMatch(
      new RegExp(`is encrypted for ${AGE_RECIPIENT}, and the key is for age1`),
    )
    expect(await problemOf(sopsText(DOCUMENT), (t) => openSecret(t, [...other, ...identities]))).toBe('opened')
  })

  test('stays closed wherever the file is cut', async () => {
    const text = sopsText(DOCUMENT)
    for (let length = 0; length < text.length - 2; length += 37) {
      const message = await problemOf(text.slice(0, length))
      expect(message, `${length} characters`).not.toBe('opened')
      expect(message).not.toContain(SECRET_VALUE)
    }
  })

  test.each([
    ['a huge file', () => `{"a":"${'x'.repeat(1_500_000)}"}`, /more than 524288 characters/],
    [
      'many values',
      () => JSON.stringify(Array.from({ length: 20_000 }, () => 1)),
      /more than (10000 values|30000 words)/,
    ],
    [
      'many keys',
      () => Array.from({ length: 40_000 }, (_, i) => `k${i}: 1`).join('\n'),
      /more than (10000 values|30000 words)/,
    ],
    ['deep nesting', () => '['.repeat(100_000), /nested|cannot be parsed/],
    ['an alias that explodes', () => 'a: &a [1]\nb: *a\n', /anchors or aliases/],
    ['two documents', () => 'a: 1\n---\nb: 1\n', /2 documents/],
    ['a duplicate key', () => '{"a": "1", "a": "2"}', /a key twice/],
    ['a date that readers take for different things', () => 'a: 2026-11-22\n', /quote it/],
    ['an octal number', () => 'a: 0777\n', /quote it/],
    [
      'a stanza in the place of a key',
      () => changed((f) => (f.sops.age[0].enc = 'x'.repeat(100_000))),
      /more than 16384 characters/,
    ],
  ])('%s is refused early', async (_, text, expected) => {
    expect(await problemOf(text())).toMatch(expected)
  })

  test.each([
    [
      'its values are readable',
      changed((f) => {
        f.stringData = { a: 'x' } as never
        f.sops.encrypted_regex = '^nothing$'
      }),
      /rules leave readable/,
    ],
    [
      'one value is readable',
      changed((f) => (f.stringData.more = 'plain-value')),
      /stringData\.more that is not encrypted/,
    ],
    [
      'its name is encrypted',
      sopsText(DOCUMENT, { rules: {}, isEncrypted: () => true }),
      /is no Secret of v1|encrypted metadata/,
    ],
    ['it has no namespace', sopsText({ ...DOCUMENT, metadata: { name: 'db' } }), /no metadata\.namespace/],
    ['it has a field of something else', sopsText({ ...DOCUMENT, spec: 'x' }), /the field spec/],
  ])('without a key it is refused when %s', async (_, text, expected) => {
    const message = await problemOf(text, sealedSecret)
    expect(message).toMatch(expected)
    expect(message).not.toMatch(/plain-value|hunter2/)
  })

  test('keys of any form keep their order and their place', async () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[-._a-zA-Z0-9]{1,12}$/), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(names, fc.string({ minLength: 1, maxLength: 40 }), async (keys, value) => {
        const named = Object.fromEntries(keys.filter((k) => !/^\d+$/.test(k)).map((k, i) => [k, `${value}${i}`]))
        const { data } = (await openSecret(sopsText({ ...DOCUMENT, data: {}, stringData: named }), identities)).object
        expect(data).toEqual(
          Object.fromEntries(Object.entries(named).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
        )
      }),
      { numRuns: 30 },
    )
  })

  test('YAML of sops is read as its JSON is', async () => {
    const { sops, ...rest } = sopsObject(DOCUMENT) as unknown as SopsFile
    const line = (o: Record<string, string>) =>
      Object.entries(o)
        .map(([k, v]) => `  ${k}: ${v === '' ? '""' : v}\n`)
        .join('')
    const text = `apiVersion: v1
kind: Secret
metadata:
  name: db
  namespace: shop
  labels:
    app: db
type: Opaque
data:
${line(rest['data'])}stringData:
  #ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:comment]
${line(rest['stringData'])}sops:
  age:
    - recipient: ${sops.age[0].recipient}
      enc: |
${sops.age[0].enc.replace(/^(?=.)/gm, '        ')}  lastmodified: "${sops.lastmodified}"
  mac: ${sops.mac}
  encrypted_regex: ${DATA_REGEX}
  version: 3.10.2
`
    expect(await openSecret(text, identities)).toEqual(await openSecret(JSON.stringify({ ...rest, sops }), identities))
  })
})

describe('S8 the places of a file', () => {
  const placed = (lines: string) => ({ ...DOCUMENT, stringData: { password: 'x', [PLACES_ENTRY]: lines } })
  const file = (document: object, change: (f: SopsFile) => void = () => undefined): string => {
    const made = sopsObject(document as typeof DOCUMENT) as unknown as SopsFile
    change(made)
    return JSON.stringify(made)
  }

  test('are no value of the Secret, and name clusters by name or by how they begin', async () => {
    const { object, places = [] } = await openSecret(file(placed(' prod-*/shop/db\n\ntest/shop/db\n')), identities)
    expect(places).toEqual(['prod-*/shop/db', 'test/shop/db'])
    expect(Object.keys(object['data'] as object).filter((key) => key.startsWith('kubenode'))).toEqual([])
    const secret = (namespace: string, name: string) => ({ ...object, metadata: { namespace, name } })
    const isIn = (cluster: string, namespace = 'shop', name = 'db') =>
      places.some((line) => isPlace(line, cluster, secret(namespace, name)))
    expect(['prod-1', 'prod-', 'test'].map((c) => isIn(c))).toEqual([true, true, true])
    expect(['prod', 'test-1', 'tes', '', 'x'].map((c) => isIn(c))).toEqual([false, false, false, false, false])
    expect([isIn('test', 'other'), isIn('test', 'shop', 'db2'), isIn('test', 'shop/db', '')]).toEqual([
      false,
      false,
      false,
    ])
    expect(isPlace('*/shop/db', 'anything', secret('shop', 'db'))).toBe(true)
    expect(isPlace('*', 'anything', secret('shop', 'db'))).toBe(false)
  })

  test('without them an author without a key can move a file whose MAC stays good: values in a row have no names', async () => {
    const moved = file({ ...DOCUMENT, metadata: { name: 'db', labels: { owner: 'prod' }, namespace: 'shop' } }, (f) => {
      const own = f as unknown as { metadata: unknown }
      own.metadata = { name: 'db', namespace: 'prod', labels: { owner: 'shop' } }
    })
    const opened = await openSecret(moved, identities)
    expect([opened.object.metadata.namespace, opened.places]).toEqual(['prod', undefined])
  })

  test('cannot be written, changed or taken from another file without the key', async () => {
    const other = sopsObject(placed('prod/shop/db')) as unknown as SopsFile
    const entries = (f: SopsFile) => (f as unknown as { stringData: Record<string, string> }).stringData
    for (const change of [
      (f: SopsFile) => void (entries(f)[PLACES_ENTRY] = 'prod/shop/db'),
      (f: SopsFile) => void (entries(f)[PLACES_ENTRY] = entries(other)[PLACES_ENTRY] ?? ''),
      (f: SopsFile) => void (entries(f)[PLACES_ENTRY] = entries(f)['password'] ?? ''),
      (f: SopsFile) => void Reflect.deleteProperty(entries(f), PLACES_ENTRY),
    ])
      expect(await problemOf(file(placed('test/shop/db'), change))).not.toBe('opened')
  })
})
