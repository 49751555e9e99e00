// How the remedy controller notifies the job controller that a repair that has not started must give way: an annotation on the job with the name of
// the higher rule.

export const SUPERSEDED_BY = 'kubenode.io/superseded-by'
