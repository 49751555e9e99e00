// Settings of the programs that a hub runs for its Clusters.
import { fallback, int, obj, optional, str, type Out } from '#api/build.ts'
import { url } from '#api/fields.ts'
import { MAX_PEM } from './setting-fields.ts'

const programs = obj(
  'Controllers, approver and Defender of Clusters, as pods on the hub, with the settings providers, trust, agents, certificateLife and callAllow of the hub; Clusters get none when left out.',
  {
    perProcess: fallback(
      int('How many Clusters of one namespace share a process; one that fails is ended with those beside it.', {
        min: 1,
        max: 100,
      }),
      10,
    ),
    heapMiB: fallback(int('Bound of the JavaScript heap of each process.', { min: 64, max: 65_536 }), 384),
    memoryMiB: fallback(
      int('Memory limit of each pod, with all of its processes.', { min: 512, max: 1_048_576 }),
      4_096,
    ),
    cpuMilli: fallback(
      int('CPU request of each pod in thousandths; there is no CPU limit.', { min: 10, max: 64_000 }),
      200,
    ),
    inClusters: fallback(
      obj(
        'Of a Cluster with spec.programs Cluster, into which the hub deploys them: with version, image, imagePullSecrets, resources, agents, certificateLife and trust of the hub, and none of its other settings.',
        { replicas: fallback(int('Pods of each program there.', { min: 1, max: 5 }), 2) },
      ),
      {},
    ),
    artifacts: optional(
      obj(
        "Where hosts of Clusters get artifacts from; the hub's own artifact servers when left out, where it has them.",
        {
          base: url('Address, such as https://artifacts.example.org/.'),
          ca: optional(
            str(
              "PEM of its certificate authority; the authorities of hosts when left out, and for the hub's own servers theirs.",
              {
                min: 1,
                max: MAX_PEM,
                pattern: '^-----BEGIN CERTIFICATE-----\\n',
                expects: 'one or more certificates in PEM',
              },
            ),
          ),
          joinScript: optional(
            str('SHA-256 of join.sh there, as kubenode agent bundle prints it.', {
              min: 64,
              max: 64,
              pattern: '^[0-9a-f]{64}$',
              expects: '64 hexadecimal digits',
            }),
          ),
        },
      ),
    ),
  },
)

export const clusterPrograms = optional(programs)
export type ClusterPrograms = Out<typeof programs>
