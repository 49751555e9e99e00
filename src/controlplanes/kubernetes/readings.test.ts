// What an upgrade is judged by is read from the metrics of API servers as they are written.
import { expect, test } from 'vitest'
import { DEFAULT_SHAPE } from './plane-settings.ts'
import { removedApis, usedOfQuota } from './readings.ts'

const METRICS = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="policy",removed_release="1.37",resource="things",subresource="",version="v1beta1"} 1
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 1.6106127e+09
apiserver_storage_size_bytes{storage_cluster_id="etcd-1"} 5.36870912e+08
`

test('APIs in use count once the wanted minor no longer serves them', () => {
  expect(removedApis(METRICS, 36)).toEqual(['flowschemas.v1beta3.flowcontrol.apiserver.k8s.io'])
  expect(removedApis(METRICS, 37)).toHaveLength(2)
  expect(removedApis('', 37)).toEqual([])
})

test('the fullest member of etcd counts, and an unknown size is not an empty store', () => {
  const shape = { ...DEFAULT_SHAPE, etcd: { members: 3, storage: '4Gi' } }
  expect(usedOfQuota(METRICS, { shape })).toBeCloseTo(0.5, 3)
  expect(() => usedOfQuota('', { shape })).toThrow('does not tell')
})
