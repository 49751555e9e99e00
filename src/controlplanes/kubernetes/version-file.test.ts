// Mistakes in a version file are reported with their row before any Cluster waits for it.
import { expect, test } from 'vitest'
import { parseVersionFile } from './version-file.ts'

const image = (name: string): string => `registry.example.org/${name}@sha256:${'ab'.repeat(32)}`
const IMAGES = {
  etcd: image('etcd'),
  apiserver: image('kube-apiserver'),
  'controller-manager': image('kube-controller-manager'),
  scheduler: image('kube-scheduler'),
}
const ROW = { version: '1.36.2', etcd: '3.6.6', emulatesFrom: 33, images: IMAGES }
const NO_VERSION = 'versions[0]: version is none of Kubernetes 1, such as 1.36.2'
const noImage = (part: string): string =>
  `versions[0]: images.${part} is no image with its digest, such as registry.example.org/${part}@sha256:…`

test('a row that is complete is taken', () => {
  expect(parseVersionFile(JSON.stringify({ versions: [ROW] }))).toEqual({
    rows: [ROW],
    network: { open: [] },
    defaults: {},
  })
})

test('the networks of the hub are those that are written down', () => {
  const file = { versions: [], hubNetworks: ['10.244.0.0/16', 'fd00::/64'], openNetworks: ['10.244.3.4/32'] }
  const network = { closed: file.hubNetworks, open: file.openNetworks }
  expect(parseVersionFile(JSON.stringify(file))).toEqual({ rows: [], network, defaults: {} })
})

test('what Clusters leave out is taken from the defaults', () => {
  const defaults = {
    storageClass: 'fast',
    resources: { cpu: '500m', memory: '1Gi' },
    snapshots: { every: '6h', keep: 4 },
  }
  expect(parseVersionFile(JSON.stringify({ versions: [ROW], defaults }))).toMatchObject({ defaults })
})

test.each<readonly [string, unknown, string]>([
  ['a version with a v, which no Cluster can name', { versions: [{ ...ROW, version: 'v1.36.2' }] }, NO_VERSION],
  ['a version without its patch', { versions: [{ ...ROW, version: '1.36' }] }, NO_VERSION],
  ['a version that is a number', { versions: [{ ...ROW, version: 1.36 }] }, NO_VERSION],
  ['an etcd with a v', { versions: [{ ...ROW, etcd: 'v3.6.6' }] }, 'versions[0]: etcd is no version, such as 3.6.6'],
  [
    'an etcd of years ago',
    { versions: [{ ...ROW, etcd: '2.3.1' }] },
    'versions[0]: etcd 2.3.1 is too old for these control planes: list 3.5 or newer, with the image of that version',
  ],
  [
    'an etcd without etcdutl',
    { versions: [ROW, { ...ROW, version: '1.35.2', etcd: '3.4.37' }] },
    'versions[1]: etcd 3.4.37 is too old for these control planes: list 3.5 or newer, with the image of that version',
  ],
  [
    'a minor as text',
    { versions: [{ ...ROW, emulatesFrom: '33' }] },
    'versions[0]: emulatesFrom is no minor up to its own, such as 33',
  ],
  [
    'an image by its tag',
    { versions: [{ ...ROW, images: { ...IMAGES, etcd: 'registry.example.org/etcd:3.6.6' } }] },
    noImage('etcd'),
  ],
  [
    'an image with a line more',
    { versions: [{ ...ROW, images: { ...IMAGES, scheduler: `${IMAGES.scheduler}\n--x` } }] },
    noImage('scheduler'),
  ],
  ['a row without the outer list', [ROW], 'it has no list "versions"'],
  [
    'a network that is no list',
    { versions: [], hubNetworks: '10.0.0.0/8' },
    'hubNetworks is no list of at most 100 ranges such as 10.244.0.0/16',
  ],
  [
    'an address in place of a range',
    { versions: [], openNetworks: ['10.0.0.1'] },
    'openNetworks[0] is no range such as 10.244.0.0/16',
  ],
  [
    'all addresses, which would leave no kubelet',
    { versions: [], hubNetworks: ['0.0.0.0/0'] },
    'hubNetworks[0] is no range such as 10.244.0.0/16',
  ],
  [
    'a range with bits of a host, which may be meant otherwise',
    { versions: [], hubNetworks: ['10.244.3.0/16'] },
    'hubNetworks[0] is written as 10.244.0.0/16',
  ],
  [
    'a default that does not exist',
    { versions: [], defaults: { storageclass: 'fast' } },
    'defaults.storageclass is unknown; did you mean storageClass?',
  ],
  [
    'a default that is no quantity',
    { versions: [], defaults: { resources: { cpu: 2 } } },
    'defaults.resources.cpu is no quantity of cpu or memory, such as 500m or 1Gi',
  ],
  [
    'snapshots that follow each other too closely',
    { versions: [], defaults: { snapshots: { every: '1m', keep: 4 } } },
    'defaults.snapshots.every is no duration of at least 5m, such as 6h',
  ],
  [
    'more snapshots than there is room for',
    { versions: [], defaults: { snapshots: { every: '1h', keep: 8 } } },
    'defaults.snapshots.keep is no number from 1 to 7',
  ],
  [
    'a list with a letter wrong, which would close nothing',
    { versions: [], hubNetwork: ['10.0.0.0/8'] },
    'hubNetwork is unknown; did you mean hubNetworks?',
  ],
  [
    'a key that is like none',
    { versions: [], comment: '' },
    'comment is unknown; known are versions, hubNetworks, openNetworks, defaults',
  ],
  [
    'a key of a row that nothing reads',
    { versions: [{ ...ROW, image: {} }] },
    'versions[0]: image is unknown; did you mean images?',
  ],
  [
    'an image of no part',
    { versions: [{ ...ROW, images: { ...IMAGES, shceduler: image('x') } }] },
    'versions[0]: images.shceduler is unknown; did you mean scheduler?',
  ],
  ['a version twice', { versions: [ROW, ROW] }, 'version 1.36.2 is there twice'],
])('%s is named', (_, file, problem) => {
  expect(parseVersionFile(JSON.stringify(file))).toEqual({ problems: [problem] })
})
