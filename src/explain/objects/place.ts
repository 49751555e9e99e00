// Where a command looked or wrote, in words: with several contexts at hand, the wrong one is the usual mistake.
import type { KubeClient } from '#kube/client.ts'

export const placeOf = ({ place = 'this server' }: Pick<KubeClient, 'place'>): string => place
