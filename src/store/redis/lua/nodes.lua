-- Answers renewals, facts and wishes: node, value, node, value, … A full server refuses a transaction that
-- reads as much.
return {call('HGETALL', nodes), call('HGETALL', facts), call('HGETALL', requests)}
