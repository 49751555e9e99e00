// The contract of the client port on the fake itself and on the HTTP client over the fake.
import { FakeKube } from '#kube/fake/fake-kube.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { kubeClientContract } from '#test/support/kube-contract.ts'
import { serveFake } from '#test/support/kube-server.ts'

const newFake = () => new FakeKube({ clock: systemClock, random: seededRandom(1) })

kubeClientContract('the fake', async () => ({
  client: newFake().client({ actor: 'test' }),
  namespace: 'default',
  close: async () => undefined,
}))

kubeClientContract('HTTPS over the fake', async () => {
  const server = await serveFake(newFake())
  const client = new HttpKubeClient(await server.config())
  return {
    client,
    namespace: 'default',
    close: async () => {
      client.close()
      await server.close()
    },
  }
})
