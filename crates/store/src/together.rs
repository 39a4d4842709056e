//! What many ask at the same moment is asked once: whoever comes while a query is under way goes with the next one. Who is
//! alone waits for nobody; where many ask, those who come within a moment go together too.
use model::{Error, Result};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::oneshot;

/// So many go together at most.
const MOST: usize = 64;
/// After a query for several the next one waits for so long, that it be one for several as well.
const MOMENT: Duration = Duration::from_millis(2);

pub(crate) struct Together<Ask, Answer>(Arc<Mutex<Waiting<Ask, Answer>>>);

struct Waiting<Ask, Answer> {
    asks: Vec<(Ask, oneshot::Sender<Result<Answer>>)>,
    under_way: bool,
}

impl<Ask, Answer> Clone for Together<Ask, Answer> {
    fn clone(&self) -> Self {
        Together(self.0.clone())
    }
}

impl<Ask, Answer> Default for Together<Ask, Answer> {
    fn default() -> Self {
        Together(Arc::new(Mutex::new(Waiting { asks: Vec::new(), under_way: false })))
    }
}

impl<Ask, Answer> Together<Ask, Answer> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<Ask, Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Ask: Send + 'static, Answer: Send + 'static> Together<Ask, Answer> {
    /// `all` answers every one that it is given, in their order. What it is at goes on if one of those who wait does not.
    pub(crate) async fn ask<All, Answers>(&self, ask: Ask, all: All) -> Result<Answer>
    where
        All: Fn(Vec<Ask>) -> Answers + Send + 'static,
        Answers: Future<Output = Result<Vec<Answer>>> + Send + 'static,
    {
        let (send, answer) = oneshot::channel();
        let first = {
            let mut waiting = self.waiting();
            waiting.asks.push((ask, send));
            !std::mem::replace(&mut waiting.under_way, true)
        };
        if first {
            tokio::spawn(self.clone().answer_all(all));
        }
        answer.await.unwrap_or_else(|_| Err(Error::Internal("a query for many ended without an answer".into())))
    }

    async fn answer_all<All, Answers>(self, all: All)
    where
        All: Fn(Vec<Ask>) -> Answers,
        Answers: Future<Output = Result<Vec<Answer>>>,
    {
        let rest = Rest(&self);
        while let Some((asks, sends)) = self.next() {
            let several = asks.len() > 1;
            match all(asks).await {
                Ok(answers) => sends.into_iter().zip(answers).for_each(|(send, answer)| drop(send.send(Ok(answer)))),
                Err(e) => sends.into_iter().for_each(|send| drop(send.send(Err(e.clone())))),
            }
            if several {
                tokio::time::sleep(MOMENT).await;
            }
        }
        std::mem::forget(rest);
    }

    /// Those who wait now. None: nobody does, and the next one begins anew.
    #[expect(clippy::type_complexity, reason = "two lists of one length")]
    fn next(&self) -> Option<(Vec<Ask>, Vec<oneshot::Sender<Result<Answer>>>)> {
        let mut waiting = self.waiting();
        let some = waiting.asks.len().min(MOST);
        waiting.under_way = some > 0;
        (some > 0).then(|| waiting.asks.drain(..some).unzip())
    }
}

/// What became of one of many rows that are written together. Rows that somebody else holds are left out and tried again
/// soon: who waits for one row while holding others may wait for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written<T> {
    Done(T),
    /// It is not for the one who asks to write.
    Not,
    Held,
}

const SOON: Duration = Duration::from_millis(5);

impl<Ask: Clone + Send + 'static, T: Send + 'static> Together<Ask, Written<T>> {
    /// The same, until nobody else holds the row. None: it was not for the one who asks to write.
    pub(crate) async fn write<All, Answers>(&self, ask: Ask, all: All) -> Result<Option<T>>
    where
        All: Fn(Vec<Ask>) -> Answers + Clone + Send + 'static,
        Answers: Future<Output = Result<Vec<Written<T>>>> + Send + 'static,
    {
        loop {
            match self.ask(ask.clone(), all.clone()).await? {
                Written::Done(answer) => return Ok(Some(answer)),
                Written::Not => return Ok(None),
                Written::Held => tokio::time::sleep(SOON).await,
            }
        }
    }
}

/// If the one who asks for all is ended in the middle, those who wait are told, and the next one begins anew.
struct Rest<'a, Ask, Answer>(&'a Together<Ask, Answer>);

impl<Ask, Answer> Drop for Rest<'_, Ask, Answer> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        waiting.asks.clear();
        waiting.under_way = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    async fn doubled(asks: Vec<u32>, queries: Arc<AtomicUsize>) -> Result<Vec<u32>> {
        queries.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(10)).await;
        if asks.contains(&0) {
            return Err(Error::Internal("nothing".into()));
        }
        Ok(asks.into_iter().map(|n| n * 2).collect())
    }

    #[tokio::test]
    async fn those_who_come_while_one_is_under_way_go_together_and_each_gets_its_own_answer() {
        let (together, queries) = (Together::default(), Arc::new(AtomicUsize::new(0)));
        let ask = |n: u32| {
            let (together, queries) = (together.clone(), queries.clone());
            async move { together.ask(n, move |asks| doubled(asks, queries.clone())).await }
        };
        let answers = futures::future::join_all((1..=100).map(ask)).await;
        assert_eq!(
            answers.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
            (1..=100).map(|n| n * 2).collect::<Vec<_>>()
        );
        // 64 and 36; whoever is polled first may go alone
        assert!((2..=3).contains(&queries.load(Ordering::Relaxed)));
        assert!(ask(0).await.is_err());
        assert_eq!(ask(7).await.unwrap(), 14);
    }

    #[tokio::test]
    async fn a_query_that_ends_in_the_middle_leaves_nobody_waiting() {
        let together = Together::<u32, u32>::default();
        let broken = together.ask(1, |_| async { panic!("in the middle") });
        assert!(broken.await.is_err());
        assert_eq!(together.ask(1, async |asks| Ok(asks)).await.unwrap(), 1);
    }
}
