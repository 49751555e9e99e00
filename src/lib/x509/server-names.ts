// Names and addresses by which programs in a cluster, and on its API server's host, reach it; included in every API server's certificate.

export const SERVER_NAMES: readonly string[] = [
  'localhost',
  '127.0.0.1',
  '::1',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]
