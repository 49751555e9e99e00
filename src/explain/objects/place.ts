// Where a command read or wrote, in words: with several contexts, using the wrong one is the usual mistake.
import type { KubeClient } from '#kube/client.ts'

export const placeOf = ({ place = 'this server' }: Pick<KubeClient, 'place'>): string => place
