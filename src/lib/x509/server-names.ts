// The names and addresses under which programs inside a cluster, and on the host of its API server, reach it: in the certificate of every API server.

export const SERVER_NAMES: readonly string[] = [
  'localhost',
  '127.0.0.1',
  '::1',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]
