// The contract of the client port on the fake itself and on the HTTP client over the fake.
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { kubeClientContract } from '#test/support/servers/kube-contract.ts'
import { serveFake } from '#test/support/servers/kube-server.ts'

const newFake = () => new FakeKube({ clock: systemClock, random: seededRandom(1) })

kubeClientContract(
  'the fake',
  async () => {
    const fake = newFake()
    return {
      client: fake.client({ actor: 'test' }),
      namespace: 'default',
      forgetHistory: async () => fake.compact(),
      close: async () => undefined,
    }
  },
  true,
)

kubeClientContract(
  'HTTPS over the fake',
  async () => {
    const fake = newFake()
    const server = await serveFake(fake)
    const client = new HttpKubeClient(await server.config())
    return {
      client,
      namespace: 'default',
      forgetHistory: async () => fake.compact(),
      close: async () => {
        client.close()
        await server.close()
      },
    }
  },
  true,
)
